import {
  DatabaseClock,
  isRefusedByPooler,
  LET_THROUGH,
  queryRows,
  readMigrations,
  readStopped,
} from '@app/timeout';
import type { DataSource } from 'typeorm';
import type { Config } from '../../config';
import { createDataSource } from '../../data-source';
import { postgresRefusal } from '../../order/postgres-refusal';
import { isOfDeadlines, SUBJECTS } from '../deadlines-alone';
import { otherMigrations } from '../other-migrations';
import { DEADLINE_KINDS } from '../../order/deadline-table';
import { latenessLimitMs } from '../../settings/lateness-limit';
import { type Check, expectation, finding, lookAtAll, ok, unknown, warning } from './check';
import { examineBrakes } from './examine-brake';
import { examineHandlers } from './examine-handlers';
import { examineHeld } from './examine-held';
import { examineIndexes } from './examine-indexes';
import { examineKinds } from './examine-kinds';
import { examineTransactionIds } from './examine-transaction-ids';
import { examineRole } from './examine-role';
import { examineRowSecurity } from './examine-row-security';
import { examineServer } from './examine-server';
import { examineSessions } from './examine-sessions';
import { examineSlots } from './examine-slots';
import { examineTableLocks } from './examine-table-locks';
import { examineTargets } from './examine-targets';

/** Alarms are late or early by what the clocks differ. */
const CLOCK_LIMIT_MS = 1_000;
const MIGRATE = 'node dist/apps/api/src/migrate.js (npm start does it, too)';

/** Looks at Postgres over a connection of its own, so that it works while nothing else does. */
export async function examinePostgres(config: Config): Promise<Check[]> {
  const dataSource = createDataSource(config, 'lastcall doctor', 2);
  try {
    await dataSource.initialize();
  } catch (error) {
    const fix = isRefusedByPooler(error)
      ? LET_THROUGH
      : (postgresRefusal(error)?.mend ?? 'start Postgres (npm start does) and check DATABASE_URL');
    return [unknown('postgres', 'reachable', error, fix)];
  }
  try {
    return await lookAtAll([
      ['postgres', 'reachable', async () => [await whereIs(dataSource)]],
      ['postgres', 'server', () => examineServer(dataSource)],
      ['postgres', 'sessions', async () => [await examineSessions(dataSource)]],
      ['postgres', 'table locks', async () => [await examineTableLocks(dataSource)]],
      ['postgres', 'transaction IDs', async () => [await examineTransactionIds(dataSource)]],
      ['postgres', 'replication slots', async () => [await examineSlots(dataSource)]],
      ['postgres', 'row security', async () => [await examineRowSecurity(dataSource)]],
      ['postgres', 'migrations', async () => [await migrations(dataSource)]],
      ['postgres', 'role', () => examineRole(dataSource)],
      ['postgres', 'indexes', async () => [await examineIndexes(dataSource)]],
      ['postgres', 'clock', async () => [await clock(dataSource)]],
      ['timer', 'brake', () => brakeOfDeadlines(dataSource)],
      ['workers', 'handlers', () => handlers(dataSource)],
      ['flow', 'kinds of hosts', () => kindsOfHosts(dataSource, config)],
      ['flow', 'held beside hosts', () => heldOfTargets(dataSource, config)],
    ]);
  } finally {
    await dataSource.destroy();
  }
}

/** Where there are deadlines alone: of orders it is looked at with the rest of the installation. */
async function brakeOfDeadlines(dataSource: DataSource): Promise<Check[]> {
  if (!isOfDeadlines(await readMigrations(dataSource))) return [];
  return examineBrakes(await readStopped(dataSource), false);
}

/** Of targets, what is held beside them waits there for `targets settle`. */
async function heldOfTargets(dataSource: DataSource, config: Config): Promise<Check[]> {
  const targets = await examineTargets(dataSource, config.DATABASE_SCHEMA);
  if (targets.length > 0) return targets;
  return isOfDeadlines(await readMigrations(dataSource)) ? [await examineHeld(dataSource)] : [];
}

/** Nothing where nobody has migrated. */
async function handlers(dataSource: DataSource): Promise<Check[]> {
  const done = await readMigrations(dataSource);
  return done.has(SUBJECTS) ? [await examineHandlers(dataSource)] : [];
}

/** Those of orders have a check of their own, with the rest of the installation. */
async function kindsOfHosts(dataSource: DataSource, config: Config): Promise<Check[]> {
  const done = await readMigrations(dataSource);
  if (!done.has(SUBJECTS)) return [];
  const known = isOfDeadlines(done) ? [] : DEADLINE_KINDS;
  return [await examineKinds(dataSource, { known, limitMs: latenessLimitMs(config) })];
}

async function whereIs(dataSource: DataSource): Promise<Check> {
  const [row] = await queryRows<{ name: string; role: string }>(
    dataSource,
    'SELECT current_database() AS name, current_user AS role',
  );
  return ok('postgres', 'reachable', `database ${row?.name} as ${row?.role}`);
}

async function migrations(dataSource: DataSource): Promise<Check> {
  if (isOfDeadlines(await readMigrations(dataSource))) {
    return ok('postgres', 'tables', 'of deadlines alone: the order module is not used here');
  }
  const { missing, unknown: newer } = await otherMigrations(dataSource);
  if (missing.length > 0) {
    return finding('postgres', 'migrations', `not run: ${missing.join(', ')}`, MIGRATE);
  }
  if (newer.length === 0) {
    return ok('postgres', 'migrations', `all ${dataSource.migrations.length} run`);
  }
  return warning(
    'postgres',
    'migrations',
    `unknown to this version: ${newer.join(', ')}`,
    'use the version that runs; where you have rolled back: docs/operations.md, "Deploying a version"',
  );
}

async function clock(dataSource: DataSource): Promise<Check> {
  const measured = new DatabaseClock(dataSource);
  await measured.measure();
  await measured.measure();
  const { offsetMs } = measured;
  return expectation(
    'postgres',
    'clock',
    Math.abs(offsetMs) <= CLOCK_LIMIT_MS,
    `${offsetMs} ms ahead of this machine`,
    'synchronise the clocks (NTP) of this machine and of the database',
  );
}
