// What the packages offer, as text: npm run api:report writes it to etc/, and CI compares.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackages, OUT } from './build.mjs';
import { entriesOf, installTools } from './tools.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const REPORTS = join(project, 'etc');

/** The file of an entry: `@lastcall/orders/http` is `orders-http.api.md`. @param {string} entry */
const reportOf = (entry) => `${entry.replace('@lastcall/', '').replaceAll('/', '-')}.api.md`;

/**
 * Compares, or writes where it may; answers with the reports that differ.
 * @param {readonly string[]} folders built packages that are imported
 * @param {{ write: boolean }} options
 */
export function reportApi(folders, { write }) {
  const extractor = installTools().require('@microsoft/api-extractor');
  const told = join(OUT, 'etc');
  for (const folder of [REPORTS, told]) mkdirSync(folder, { recursive: true });
  const known = new Set();
  const changed = folders.flatMap((folder) => {
    const configs = entriesOf(folder).map((entry) => configOf(extractor, folder, entry, told));
    const [first, ...others] = configs;
    // One program for all entries: most of the time goes into reading Nest's types.
    const compilerState = extractor.CompilerState.create(first, {
      additionalEntryPoints: others.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
    });
    return configs.flatMap((config) => {
      const name = config.reportConfigs[0].fileName;
      known.add(name);
      const { apiReportChanged } = extractor.Extractor.invoke(config, {
        ...{ compilerState, localBuild: write },
        messageCallback: quieten,
      });
      return apiReportChanged ? [name] : [];
    });
  });
  const orphans = readdirSync(REPORTS).filter((file) => !known.has(file));
  if (write) for (const file of orphans) rmSync(join(REPORTS, file));
  return { count: known.size, changed: [...changed, ...orphans] };
}

/** What matters is the report; why it differs, a person sees in it. @param {any} message */
function quieten(message) {
  if (message.logLevel !== 'error') message.logLevel = 'none';
}

/**
 * @param {any} extractor @param {string} folder @param {{name: string, declarations: string}} entry
 * @param {string} reportTempFolder
 */
function configOf({ ExtractorConfig }, folder, { name, declarations }, reportTempFolder) {
  const none = { default: { logLevel: 'none' } };
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(folder, 'package.json'),
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: declarations,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            ...{ target: 'ES2023', module: 'node20', strict: true, skipLibCheck: true },
            ...{ types: ['node'], typeRoots: [join(project, 'node_modules/@types')] },
          },
          files: [declarations],
        },
      },
      apiReport: {
        enabled: true,
        reportFolder: REPORTS,
        reportTempFolder,
        reportFileName: reportOf(name),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: none,
        tsdocMessageReporting: none,
        extractorMessageReporting: {
          ...none,
          // A type that an entry speaks of and does not export: readers of the report see it there.
          'ae-forgotten-export': { logLevel: 'none', addToApiReportFile: true },
        },
      },
    },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folders = buildPackages().flatMap(({ name, folder }) =>
    name.startsWith('@lastcall/') ? [folder] : [],
  );
  const { count, changed } = reportApi(folders, { write: true });
  console.log(`etc/: ${count} entries, ${changed.length} changed: ${changed.join(', ') || 'none'}`);
}
