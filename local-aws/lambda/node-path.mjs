/*
 * Lambda's Node.js searches NODE_PATH for ES modules, too; stock Node.js does not. Loaded with `--import`, this adds it, in each thread.
 *
 * By hooks in the same thread, which Node.js 22 and later have: those of a thread of their own would make each cold start some 50 ms longer.
 */
import { registerHooks } from 'node:module';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const roots = (process.env.NODE_PATH ?? '').split(delimiter).filter(Boolean);
/** A file that would lie beside each folder, from which the ordinary search finds what is in it. */
const starts = roots.map(root => pathToFileURL(join(root, '..', 'start.mjs')).href);

registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
      for (const parentURL of starts) {
        try {
          return next(specifier, { ...context, parentURL });
        } catch {
          // Not there either.
        }
      }
      throw error;
    }
  },
});
