// What a fresh clone needs before anything runs: the packages, and the build. Both do nothing
// when there is nothing to do. Nothing here may import a package.
import { createHash } from 'node:crypto';
import {
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock-file.mjs';
import { refuseOldNode } from './node-version.mjs';
import { runCommand } from './run-command.mjs';
import { projectFolder } from './services/folders.mjs';

/** @typedef {{ signal: AbortSignal, say: (line: string) => void }} SetUpOptions */

const LOCK_FILE = join(projectFolder, '.lastcall', 'set-up.lock');
const LOCK_LIMIT_MS = 10 * 60_000;
const SOURCE_FOLDERS = ['apps', 'libs'];
/** No package runs programs of its own here, whatever this user's npm is told elsewhere. */
const INSTALL_FLAGS = [
  '--ignore-scripts',
  '--include=dev',
  '--include=optional',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
];
/** The pages are bundled for browsers (build-web.mjs). */
const NOT_FOR_SERVERS = ['--ignore', 'apps/web/**'];
const STAMP = join('dist', '.built-from');

/** @param {SetUpOptions} options */
export async function setUp(options) {
  await ensureInstalled(options);
  await ensureBuilt(options);
}

/** @param {SetUpOptions} options */
export async function ensureInstalled(options) {
  refuseOldNode();
  if (isInstalled()) return;
  await exclusively(options, async () => {
    if (!isInstalled()) await install(options);
  });
}

/** @param {SetUpOptions} options */
export async function ensureBuilt(options) {
  if (isBuilt()) return;
  await exclusively(options, async () => {
    if (!isBuilt()) await build(options);
  });
}

/**
 * @param {SetUpOptions} options
 * @param {() => Promise<void>} work
 */
async function exclusively({ signal, say }, work) {
  await withLock(LOCK_FILE, work, {
    limitMs: LOCK_LIMIT_MS,
    signal,
    onWait: ({ pid }) => say(`Process ${pid} is setting up this folder: waiting for it`),
  });
}

/** npm keeps a second lock file of what it has really installed, written when it is done. */
function isInstalled() {
  const installedFile = join(projectFolder, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return false;
  /** @typedef {Record<string, { version?: string, optional?: boolean, link?: boolean }>} Packages */
  /** @type {Packages} */
  const wanted = JSON.parse(
    readFileSync(join(projectFolder, 'package-lock.json'), 'utf8'),
  ).packages;
  /** @type {Packages} */
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === '' || installed[path]?.version === version || (optional && !installed[path]),
  );
}

/** @param {SetUpOptions} options */
async function install({ signal, say }) {
  say('Installing the packages (once, about half a minute)');
  const { code, output } = await runCommand('npm', ['ci', ...INSTALL_FLAGS], {
    cwd: projectFolder,
    signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Never `npm install` instead: it would take versions and hashes that nobody has looked at.
  if (code !== 0) throw new Error(`npm ci failed, and nothing was installed:\n${output.trim()}`);
}

function isBuilt() {
  const stamp = join(projectFolder, STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === sourceDigest();
}

/** Into a folder of its own, put in place whole: what is no longer in the sources goes. */
async function build({ signal, say } = /** @type {SetUpOptions} */ ({})) {
  say('Building');
  const digest = sourceDigest();
  const finished = join(projectFolder, 'dist');
  const unfinished = `${finished}.new`;
  const old = `${finished}.old`;
  rmSync(unfinished, { recursive: true, force: true });
  const swc = join('node_modules', '@swc', 'cli', 'bin', 'swc.js');
  // Files that are no sources, such as invariants.sql, are copied beside what reads them.
  const args = [
    swc,
    ...SOURCE_FOLDERS,
    '-d',
    unfinished,
    '--copy-files',
    '--quiet',
    ...NOT_FOR_SERVERS,
  ];
  await runStep(args, signal);
  await runStep([join('scripts', 'build-web.mjs'), join(unfinished, 'web')], signal);
  rmSync(old, { recursive: true, force: true });
  if (existsSync(finished)) renameSync(finished, old);
  renameSync(unfinished, finished);
  rmSync(old, { recursive: true, force: true });
  // Names files of the build, so it is written where these are in place.
  await runStep([join('apps', 'ops-cli', 'bin', 'write-manifest.js')], signal);
  // Last of all: whoever is interrupted before builds anew.
  writeFileSync(join(projectFolder, STAMP), digest);
}

/**
 * @param {string[]} args of Node
 * @param {AbortSignal} signal
 */
async function runStep(args, signal) {
  const { code, output } = await runCommand(process.execPath, args, {
    cwd: projectFolder,
    signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (code !== 0) throw new Error(`the build failed:\n${output.trim()}`);
}

/** Changes whenever a source is added, removed or written. */
function sourceDigest() {
  const hash = createHash('sha256');
  const files = [
    '.swcrc',
    'package-lock.json',
    'scripts/build-web.mjs',
    ...SOURCE_FOLDERS.flatMap(filesIn),
  ].sort();
  for (const file of files) {
    const { mtimeMs, size } = statSync(join(projectFolder, file));
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex');
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function filesIn(folder) {
  return readdirSync(join(projectFolder, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}
