import type { Engine } from './engine';
import { runJest } from './run-jest';

// eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module without types
const { pgbouncerIsMissing } = require('../../scripts/services/pgbouncer.mjs') as {
  pgbouncerIsMissing(): string | undefined;
};

/** The pooler that most shops have before their Postgres. */
export const pgbouncer: Engine = {
  name: 'PgBouncer',
  judges: 'what a pooler before Postgres does to us, and that it is told',
  missing: pgbouncerIsMissing,
  judge: () => runJest(['pooler/']),
};
