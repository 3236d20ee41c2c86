import { Pool } from 'pg';
import { stepClockWhenTold } from '../timers/clock-step';

/** Connections for the work itself, beside those the library opens: the same for everybody. */
const WORK_CONNECTIONS = 20;

/** Says to a program that it was killed and handed its orders to its timer before that. */
export const AGAIN = '--again';

export interface PendingOrder {
  readonly id: string;
  readonly closesAt: Date;
}

export interface Competitor {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly pool: Pool;
  /** All orders that wait, in the order they are due. */
  readonly orders: () => Promise<PendingOrder[]>;
}

/**
 * A competitor is a process of its own: `begin` hands its orders to its timer and starts its
 * workers; from then on it closes what is due until it is killed.
 */
export function compete(begin: (competitor: Competitor) => Promise<void>): void {
  const { DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl = '' } = process.env;
  const pool = new Pool({
    connectionString: databaseUrl,
    max: WORK_CONNECTIONS,
    // As lastcall's own connections: a plan from when the table was empty helps nobody.
    options: '-c enable_seqscan=off',
  });
  const orders = async (): Promise<PendingOrder[]> => {
    // Started again: what was placed before is in the timer, or it is nowhere.
    if (process.argv.includes(AGAIN)) return [];
    const { rows } = await pool.query<PendingOrder>(
      `SELECT id, closes_at AS "closesAt" FROM orders
        WHERE status = 'pending_payment' ORDER BY closes_at, id`,
    );
    return rows;
  };
  stepClockWhenTold();
  begin({ databaseUrl, redisUrl, pool, orders }).then(
    () => console.log('ready'),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}

export function* chunksOf<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
