// The packages' documentation, to read in a browser: npm run docs:api. Warnings fail it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackages, OUT } from './build.mjs';
import { run } from './install-host.mjs';
import { entriesOf, installTools } from './tools.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * Documents what an importer finds: the declarations as they are packed.
 * @param {readonly string[]} folders built packages
 * @returns the folder of the pages
 */
export function documentApi(folders) {
  const { bin } = installTools();
  const out = join(OUT, 'docs');
  const entries = folders.flatMap(entriesOf);
  const compilerOptions = {
    ...{ target: 'ES2023', module: 'node20', strict: true, skipLibCheck: true, noEmit: true },
    ...{ types: ['node'], typeRoots: [join(project, 'node_modules/@types')] },
  };
  const configs = join(OUT, 'typedoc');
  rmSync(configs, { recursive: true, force: true });
  // Pages are called as files are: so each entry gets one that is called as it is imported.
  const files = entries.map(({ name, declarations }) => {
    const file = join(configs, /\/.*\//.test(name) ? `${name}.ts` : join(name, 'index.ts'));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `export * from '${declarations.replace(/\.d\.ts$/, '')}';\n`);
    return file;
  });
  const tsconfig = join(configs, 'tsconfig.json');
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files }));
  const options = join(configs, 'typedoc.json');
  writeFileSync(
    options,
    JSON.stringify({
      ...{ name: 'lastcall', tsconfig, out, readme: 'none', entryPoints: files },
      ...{ excludePrivate: true, excludeExternals: true, disableSources: true },
      ...{ treatWarningsAsErrors: true, githubPages: false, logLevel: 'Warn' },
      // What an entry speaks of and does not export is told by the API report (api-report.mjs).
      validation: { notExported: false, invalidLink: true, invalidPath: true },
    }),
  );
  run(bin('typedoc'), ['--options', options]);
  return out;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folders = buildPackages().flatMap(({ name, folder }) =>
    name.startsWith('@lastcall/') ? [folder] : [],
  );
  console.log(`Open ${relative(process.cwd(), join(documentApi(folders), 'index.html'))}`);
}
