import type { DataSource, QueryRunner } from 'typeorm';
import { isLockTimeout } from './database-errors';
import { MigrationUnderWayError } from '../errors';
import { lifting } from './lift-limits';
import { withOwnSessions } from './pooler';
import { quoted } from './quoted';
import { type Session, sessionText } from './session-text';
import { warn } from '../warn';

/** The order module takes it, too: whoever migrates takes turns. */
const MIGRATION_LOCK = 7_126_354_001;
/** Longer than a start takes that has nothing to migrate. */
const WAIT_MS = 10_000;
/** Five minutes, as a migration waits for a table. */
const WAITS = 30;

export interface TurnPatience {
  /** Told after each wait but the last who has the turn. Default: a warning of the process. */
  readonly tell?: (text: string) => void;
  readonly waitMs?: number;
  readonly waits?: number;
}

/**
 * Does this having the turn, by its session: it waits for others who migrate, and stands still while another connection
 * does. The data source is for this alone, and is closed whatever becomes of it.
 * @throws {TransactionPoolingError}
 * @throws {MigrationUnderWayError}
 */
export async function inMigrationTurn<T>(
  opened: DataSource,
  work: (turn: QueryRunner) => Promise<T>,
): Promise<T> {
  const dataSource = await withOwnSessions(opened);
  try {
    const turn = dataSource.createQueryRunner();
    try {
      await turn.query(lifting());
      await takeMigrationTurn(turn);
      return await work(turn);
    } finally {
      await turn.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
      await turn.release();
    }
  } finally {
    await dataSource.destroy();
  }
}

/** An owner who may make no schemas is given one by an administrator: then it is there. */
export async function makeSchema(turn: QueryRunner, schema: string): Promise<void> {
  const sql = 'SELECT to_regnamespace($1) IS NULL AS missing';
  const [row] = (await turn.query(sql, [quoted(schema)])) as { missing: boolean }[];
  if (row?.missing) await turn.query(`CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`);
}

/**
 * Waits for others who migrate, and keeps the turn until the session ends it.
 * @throws {MigrationUnderWayError} when another has it still after five minutes
 */
export async function takeMigrationTurn(
  runner: QueryRunner,
  { tell = warn, waitMs = WAIT_MS, waits = WAITS }: TurnPatience = {},
): Promise<void> {
  try {
    await runner.query(`SELECT set_config('lock_timeout', ($1::int)::text, false)`, [waitMs]);
    for (let wait = 1; !(await isTaken(runner)); wait += 1) {
      const sessions = await holders(runner);
      if (wait === waits) throw new MigrationUnderWayError(sessions);
      tell(`Waiting for another migration to end: ${sessions.join('; ') || 'it has just ended'}`);
    }
  } finally {
    // A connection that is lost has no setting left.
    await runner.query('RESET lock_timeout').catch(() => undefined);
  }
}

async function isTaken(runner: QueryRunner): Promise<boolean> {
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
}

/** A key of one number is kept as its two halves. */
async function holders(runner: QueryRunner): Promise<string[]> {
  const sessions = (await runner.query(
    `SELECT l.pid, a.application_name AS name, a.backend_start AS since
       FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (l.classid::bigint << 32 | l.objid::bigint) = $1`,
    [MIGRATION_LOCK],
  )) as Session[];
  return sessions.map(sessionText);
}
