import { postgresProgramsAreMissing } from '../../scripts/services/postgres-programs.mjs';
import type { Engine } from './engine';
import { runJest } from './run-jest';

/** PostgreSQL's own programs take the dump that a shop is brought back from, in another cluster, and count one to its end. */
export const pgDump: Engine = {
  name: 'pg_dump',
  judges:
    'that a shop goes on from a dump, in another cluster, of the Postgres that is installed, and after one had no transaction ID left',
  missing: postgresProgramsAreMissing,
  judge: () => runJest(['restore/']),
};
