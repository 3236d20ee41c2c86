// npm run docs:drivers [-- NAME ...]: holds every timer driver, or those named, to the whole contract,
// with the faults of their real stores, and writes what came of it into docs/drivers.md. Drivers that
// were not asked keep the rows of their last run. Brokers need the tools of `npm run test:engines`.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { runCommand } from './run-command.mjs';
import { runScript } from './run-script.mjs';
import { projectFolder } from './services/folders.mjs';

/** @typedef {{ on: string, promises: Record<string, string> }} Held */

const DRIVERS = join(projectFolder, 'libs', 'timeout', 'src', 'drivers');
const KEPT = join(projectFolder, 'docs', 'generated', 'driver-contract.json');
const PAGE = join(projectFolder, 'docs', 'drivers.md');
const [BEGIN, END] = ['<!-- written by npm run docs:drivers -->', '<!-- end -->'];
const CONTRACT = 'the contract of every timer driver';
/** Where the whole contract of a driver is, the first that there is. */
const EXTENTS = [
  { ends: '.driver.engine.ts', config: 'jest.engines.config.js' },
  { ends: '.driver.long.ts', config: 'jest.long.config.js' },
  { ends: '.driver.spec.ts', config: 'jest.config.js' },
];

const drivers = readdirSync(DRIVERS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

await runScript(async ({ signal, say }) => {
  const named = process.argv.slice(2);
  const unknown = named.find((name) => !drivers.includes(name));
  if (unknown) throw new Error(`There is no driver "${unknown}": ${drivers.join(', ')}`);
  const asked = named.length > 0 ? named : drivers;
  /** @type {Record<string, Held>} */
  const held = existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, 'utf8')) : {};
  let worst = 0;
  for (const { config, ends } of EXTENTS) {
    const those = asked.filter((name) => extentOf(name).ends === ends);
    if (those.length === 0) continue;
    say(`${those.join(', ')}: ${config}`);
    const { code, results } = await run(config, those, signal);
    worst = Math.max(worst, code);
    for (const name of those) {
      const promises = promisesOf(results, name);
      if (Object.keys(promises).length === 0) throw new Error(`${name} was asked nothing`);
      held[name] = { on: new Date().toISOString().slice(0, 10), promises };
    }
  }
  writeFileSync(KEPT, `${JSON.stringify(held, null, 2)}\n`);
  await write(held);
  return worst;
});

/** @param {string} name */
function extentOf(name) {
  const found = EXTENTS.find(({ ends }) => existsSync(join(DRIVERS, name, `${name}${ends}`)));
  if (!found) throw new Error(`${name} has no spec`);
  return found;
}

/** @param {string} config @param {string[]} names @param {AbortSignal} signal */
async function run(config, names, signal) {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-contract-'));
  const file = join(folder, 'results.json');
  try {
    const files = `drivers/(${names.join('|')})/\\w[\\w-]*\\.driver\\.`;
    const args = ['scripts/test.mjs', '--config', config, '--runInBand', files];
    const env = { ...process.env, TEST_RESULTS: file };
    const { code } = await runCommand(process.execPath, args, { cwd: projectFolder, env, signal });
    if (!existsSync(file)) throw new Error(`The tests of ${names.join(', ')} did not run`);
    return { code, results: JSON.parse(readFileSync(file, 'utf8')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What its contract asked of a driver, and whether it held.
 * @param {{ testResults: { name: string, assertionResults: { ancestorTitles: string[], title: string, status: string }[] }[] }} results
 * @param {string} name
 */
function promisesOf({ testResults }, name) {
  const tests = testResults
    .filter((file) => relative(DRIVERS, file.name).startsWith(join(name, '/')))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ ancestorTitles }) => ancestorTitles[0]?.endsWith(CONTRACT));
  return Object.fromEntries(tests.map(({ title, status }) => [title, status]));
}

/** @param {Record<string, Held>} held */
async function write(held) {
  const page = readFileSync(PAGE, 'utf8');
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`docs/drivers.md has lost its marks ${BEGIN} ${END}`);
  const all = Object.entries(held).sort(([a], [b]) => (a < b ? -1 : 1));
  const promises = [...new Set(all.flatMap(([, { promises: those }]) => Object.keys(those)))];
  const row = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |`;
  const cell = (/** @type {string | undefined} */ status) =>
    status === undefined ? '–' : status === 'passed' ? 'holds' : '**fails**';
  const table = [
    row(['it ...', ...all.map(([name]) => name)]),
    row(['---', ...all.map(() => '---')]),
    ...promises.map((promise) =>
      row([promise, ...all.map(([, { promises: those }]) => cell(those[promise]))]),
    ),
    row(['run on', ...all.map(([, { on }]) => on)]),
  ].join('\n');
  const text = `${page.slice(0, from)}${BEGIN}\n\n${table}\n\n${page.slice(to)}`;
  const style = await resolveConfig(PAGE);
  writeFileSync(PAGE, await format(text, { ...style, filepath: PAGE }));
}
