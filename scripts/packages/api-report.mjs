// What the packages offer, as text: npm run api:report writes it to etc/, and CI compares.
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackages, OUT } from './build.mjs';
import { entriesOf, installTools } from './tools.mjs';

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const REPORTS = join(project, 'etc');

/**
 * What entries speak of and no entry exports, and why nobody misses it; everything else has to be exported.
 * @type {Readonly<Record<string, string>>}
 */
const NOT_EXPORTED = {
  // What Nest injects into constructors that no host calls.
  injected:
    'ApplyNotices CancelPaid CancelWishes CloseOrder EventStream ExamineProviders ExtendPayments ForeignMoney '.concat(
      'HeldElsewhere OrderHooks ReconcileFixes RecordCaptures RedisMark SigningKey TargetClosing TargetParts TargetWebhooks TimeoutService',
    ),
  // Of methods marked @internal, which no host calls.
  internal: 'ChangeOfMany Uuids',
  // What types are made of, by TypeScript or zod; the types themselves are exported.
  inferred: 'DEADLINES SHARED schema SecretName',
};

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
  rmSync(told, { recursive: true, force: true });
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
  return { count: known.size, changed: [...changed, ...orphans], forgotten: forgottenIn(told) };
}

/**
 * Types that a signature speaks of and that no entry of ours exports; an entry may speak of what its
 * package exports elsewhere. Also what is excused above and is not spoken of any more.
 * @param {string} folder of reports
 */
function forgottenIn(folder) {
  const reports = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  const all = reports.join('\n');
  const exported = new Set(
    [
      ...all.matchAll(
        /^export (?:declare |abstract )*(?:class|const|enum|function|interface|type) (\w+)/gm,
      ),
      ...all.matchAll(/^export \{ \w+ as (\w+) \}/gm),
    ].map(([, name = '']) => name),
  );
  const spoken = new Set(
    [...all.matchAll(/\(ae-forgotten-export\) The symbol "(\w+?)(?:_\d+)?"/g)].map(
      ([, name = '']) => name,
    ),
  );
  const excused = Object.values(NOT_EXPORTED).flatMap((names) => names.split(' '));
  return [
    ...[...spoken].filter((name) => !exported.has(name) && !excused.includes(name)),
    ...excused.filter((name) => !spoken.has(name)).map((name) => `${name} (excused for nothing)`),
  ];
}

/** @param {readonly string[]} names */
export const sayForgotten = (names) =>
  `signatures speak of what no entry exports: ${names.join(', ')}\nexport it, or excuse it in api-report.mjs`;

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
  const { count, changed, forgotten } = reportApi(folders, { write: true });
  console.log(`etc/: ${count} entries, ${changed.length} changed: ${changed.join(', ') || 'none'}`);
  if (forgotten.length > 0) throw new Error(sayForgotten(forgotten));
}
