// The programs of a PostgreSQL that is installed here, pg_dump and pg_restore among them, which the
// embedded one lacks. pg_dump takes no server that is newer than itself: so all are of one version.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** @typedef {import('./postgres-binaries.mjs').PostgresBinaries & { pgDump: string, pgRestore: string }} PostgresPrograms */

/** Where Debian and its like keep each version. */
const VERSIONS = '/usr/lib/postgresql';

/** What is missing to have them; undefined when they are there. @returns {string | undefined} */
export function postgresProgramsAreMissing() {
  if (findPostgresPrograms()) return undefined;
  return 'no initdb, postgres, pg_dump and pg_restore of one version; install PostgreSQL (apt-get install postgresql)';
}

/** @returns {PostgresPrograms | undefined} */
export function findPostgresPrograms() {
  for (const folder of folders()) {
    const programs = {
      initdb: join(folder, 'initdb'),
      postgres: join(folder, 'postgres'),
      pgDump: join(folder, 'pg_dump'),
      pgRestore: join(folder, 'pg_restore'),
    };
    if (!Object.values(programs).every((program) => existsSync(program))) continue;
    const { stdout } = spawnSync(programs.pgDump, ['--version'], { encoding: 'utf8' });
    const major = Number(/(\d+)/.exec(stdout)?.[1]);
    if (major > 0) return { ...programs, major };
  }
  return undefined;
}

function folders() {
  const own = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  return [...(own ? [own] : []), ...newestFirst.map((version) => join(VERSIONS, version, 'bin'))];
}
