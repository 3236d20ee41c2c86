import type { QueryRunner } from 'typeorm';
import { LockedTablesError } from '../errors';
import { lockHolders } from './lock-holders';
import { PAST_AUTOVACUUM_MS } from './past-autovacuum';
import { pause } from '../pause';
import { warn } from '../warn';

/**
 * A change of a table waits no longer for those who use it: whoever comes after it would wait as
 * long, behind it. Longer than a transaction of ours holds what it uses, and short for a customer.
 */
const LOCK_LIMIT_MS = 300;
/** Every so many times it waits {@link PAST_AUTOVACUUM_MS}. */
const PAST_AUTOVACUUM_EVERY = 4;
/** Ten seconds, as who waits for another migration tells of that. */
const TELL_EVERY = 4;
/** Meanwhile those who came after it have their turn. */
const PAUSE_MS = 2_000;
/** Five minutes of both. */
const ATTEMPTS = 130;
/** lock_not_available, deadlock_detected */
const WORTH_ANOTHER_TRY = new Set(['55P03', '40P01']);

export interface Patience {
  /** Where the tables are; default: where the session finds them. */
  readonly schema?: string;
  readonly attempts?: number;
  /** Told now and then who holds them while it goes on waiting. Default: a warning of the process. */
  readonly tell?: (text: string) => void;
  /** After so many attempts each time. */
  readonly tellEvery?: number;
}

/**
 * Runs what changes tables that others use, again and again until nobody holds them: a dump, a
 * report. It is one transaction, or goes on where it was undone.
 * @throws {LockedTablesError} when somebody still holds one after some five minutes
 */
export async function patiently<T>(
  runner: QueryRunner,
  change: () => Promise<T>,
  { schema, attempts = ATTEMPTS, tell = warn, tellEvery = TELL_EVERY }: Patience = {},
): Promise<T> {
  try {
    for (let attempt = 1; ; attempt += 1) {
      const limitMs = attempt % PAST_AUTOVACUUM_EVERY === 0 ? PAST_AUTOVACUUM_MS : LOCK_LIMIT_MS;
      await runner.query(`SELECT set_config('lock_timeout', (${limitMs})::text, false)`);
      try {
        return await change();
      } catch (error) {
        const { code = '' } = error as { code?: string };
        if (!WORTH_ANOTHER_TRY.has(code)) throw error;
        if (attempt === attempts)
          throw new LockedTablesError(await lockHolders(runner, { schema }), error);
        if (attempt % tellEvery === 0) tell(waitingFor(await lockHolders(runner, { schema })));
      }
      await pause(PAUSE_MS);
    }
  } finally {
    // A connection that is lost has no setting left.
    await runner.query('RESET lock_timeout').catch(() => undefined);
  }
}

const waitingFor = (sessions: readonly string[]): string =>
  `Waiting for others who use our tables: ${sessions.join('; ') || 'they have just ended'}`;
