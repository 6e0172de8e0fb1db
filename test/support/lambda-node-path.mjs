// Lambda's Node.js runtimes search NODE_PATH for ES modules, too; stock Node.js does not. Loaded with `node --import`, this adds it.
import { register } from 'node:module';

const hook = `
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const roots = (process.env.NODE_PATH ?? '').split(delimiter).filter(Boolean);

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    for (const root of roots) {
      // The ordinary search, started from a file that would lie beside the node_modules folder.
      const found = await next(specifier, { ...context, parentURL: pathToFileURL(join(root, '..', 'start.mjs')).href }).catch(() => undefined);
      if (found) return found;
    }
    throw error;
  }
}`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
