import { transformSync } from 'esbuild';

/** Jest loads CommonJS. The packages that are ES modules alone, named in jest's configuration, are translated. */
export default {
  process: (source, sourcefile) => transformSync(source, { sourcefile, format: 'cjs', target: 'node20', sourcemap: 'external', sourcesContent: false }),
};
