import { transformSync } from 'esbuild';

/** Jest loads CommonJS. The packages that are ES modules alone, named in jest's configuration, are translated. */
export default {
  process(source, path) {
    // In a file named .mjs, as for Node, a default import is the whole of a CommonJS module; but the modules imported are translated ones, too.
    const sourcefile = path.replace(/\.mjs$/, '.js');
    return transformSync(source, { sourcefile, format: 'cjs', target: 'node20', sourcemap: 'external', sourcesContent: false });
  },
};
