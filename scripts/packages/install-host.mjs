// A host as somebody else would have it: its own packages from its own lock file, and our tarballs.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const LOCKS = join(project, 'test', 'packages');
const TSC = createRequire(import.meta.url).resolve('typescript/bin/tsc');
export const INSTALL = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

const COMPILER_OPTIONS = {
  ...{ target: 'ES2023', module: 'node20', strict: true, skipLibCheck: true },
  ...{ experimentalDecorators: true, emitDecoratorMetadata: true, esModuleInterop: true },
  exactOptionalPropertyTypes: true,
  typeRoots: [join(project, 'node_modules/@types')],
  types: ['node'],
};

/**
 * @param {string} command @param {string[]} args @param {{cwd?: string, env?: object}} [options]
 * @returns {string} what it printed
 */
export function run(command, args, { cwd = project, env = {} } = {}) {
  const given = { cwd, env: { ...process.env, ...env }, encoding: /** @type {const} */ ('utf8') };
  const { status, stdout, stderr, error } = spawnSync(command, args, given);
  if (error) throw error;
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
}

/**
 * What an example consists of, as `installHost` takes it: its `main.ts` is `NAME/main.js` then.
 * @param {string} name @returns {Record<string, string>}
 */
export function exampleFiles(name) {
  const folder = join(project, 'examples', name);
  const sources = readdirSync(folder).filter((file) => file.endsWith('.ts'));
  return Object.fromEntries(sources.map((file) => [join(name, file), join(folder, file)]));
}

/**
 * Installs and compiles: `files` are what the host's sources are called there, and where they are from.
 * @param {string} folder @param {'nest11' | 'nest12'} nest
 * @param {readonly {tarball: string}[]} packages @param {Readonly<Record<string, string>>} files
 * @param {(step: string) => void} [tell] what it is about to do
 */
export function installHost(folder, nest, packages, files, tell = () => undefined) {
  mkdirSync(folder, { recursive: true });
  for (const file of ['package.json', 'package-lock.json']) {
    copyFileSync(join(LOCKS, nest, file), join(folder, file));
  }
  tell("Installing the shop's own packages (npm ci)");
  run('npm', ['ci', ...INSTALL], { cwd: folder });
  tell('Installing ours into it');
  const tarballs = packages.map(({ tarball }) => tarball);
  run('npm', ['install', '--no-save', ...INSTALL, ...tarballs], { cwd: folder });
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    copyFileSync(source, join(folder, name));
  }
  const include = Object.keys(files);
  tell('Compiling the shop');
  const configFile = JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include });
  writeFileSync(join(folder, 'tsconfig.json'), configFile);
  run(process.execPath, [TSC, '-p', folder]);
}
