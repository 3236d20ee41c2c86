import os from 'node:os';
import { DatabaseClock } from '@app/timeout';
import { Client } from 'pg';
import type { Scheduler } from './scheduler';

/** The shop's time, moved by a program's steps alone. */
export class FakeTime {
  /** The database's clock, in milliseconds since the epoch. */
  nowMs = 0;
  /** What no clock setting moves. */
  uptimeMs = 0;
  /** True: transactions have their ids as they begin, so that ids and commits differ in order. */
  earlyIds = false;

  pass(ms: number): void {
    this.nowMs += ms;
    this.uptimeMs += ms;
  }

  /** Somebody sets the database's clock. */
  jump(ms: number): void {
    this.nowMs += ms;
  }
}

/**
 * A schema whose `now()` comes before Postgres' own: what the product's unqualified `now()` finds,
 * in statements, defaults and views alike. It is set when a transaction begins and stays for it,
 * as Postgres' own does.
 */
export const FAKE_CLOCK_SQL = [
  'CREATE SCHEMA fake',
  ...['now', 'clock_timestamp'].map(
    (name) => `CREATE FUNCTION fake.${name}() RETURNS timestamptz STABLE LANGUAGE sql AS $$
      SELECT coalesce(to_timestamp(nullif(current_setting('fake.now_ms', true), '')::numeric / 1000),
                      pg_catalog.${name}()) $$`,
  ),
];

type Query = (
  this: Client,
  statement: string | { text: string },
  values?: unknown[],
) => Promise<unknown>;

/** The connections of the product have names that begin so. */
const OURS = 'lastcall ';

/**
 * Every statement, commit and rollback of the product becomes a step, whichever way it takes to
 * node-postgres.
 */
export function instrumentPostgres(scheduler: Scheduler, time: FakeTime): void {
  const query = Client.prototype.query as unknown as Query;
  const inTransaction = new WeakSet<Client>();
  const setTime = (client: Client, isLocal: boolean): Promise<unknown> =>
    query.call(client, `SELECT set_config('fake.now_ms', '${time.nowMs}', ${isLocal})`);
  const carryOut = async (client: Client, text: string, args: Parameters<Query>) => {
    if (!/^(COMMIT|ROLLBACK)/.test(text)) {
      if (!inTransaction.has(client)) await setTime(client, false);
      return query.apply(client, args);
    }
    inTransaction.delete(client);
    return query.apply(client, args);
  };
  const replacement: Query = async function (...args) {
    const text = (typeof args[0] === 'string' ? args[0] : args[0].text).trim();
    if (/^(BEGIN|START TRANSACTION)/.test(text)) {
      // Not a step of its own: it meets nobody. Now is now until the transaction ends.
      const end = scheduler.begin();
      try {
        const result = await query.apply(this, args);
        inTransaction.add(this);
        await setTime(this, true);
        // Before it waits for any row: so of two that want one order, either may have the older id.
        if (time.earlyIds) await query.call(this, 'SELECT pg_current_xact_id()');
        return result;
      } finally {
        end();
      }
    }
    const pid = (this as { processID?: number }).processID;
    return scheduler.step(nameOf(text, args), () => carryOut(this, text, args), pid);
  };
  Client.prototype.query = function (this: Client, ...args: unknown[]) {
    const { connectionParameters } = this as unknown as {
      connectionParameters: { application_name?: string };
    };
    const isOurs = connectionParameters.application_name?.startsWith(OURS);
    const isCallback = typeof args.at(-1) === 'function';
    const chosen = isOurs && !isCallback ? replacement : query;
    return chosen.apply(this, args as Parameters<Query>);
  } as typeof Client.prototype.query;
}

/** Making a connection is no step, but nothing else moves meanwhile. */
export function instrumentConnecting(scheduler: Scheduler): void {
  type Connect = (this: Client, callback?: (...args: unknown[]) => void) => unknown;
  const connect = Client.prototype.connect as unknown as Connect;
  Client.prototype.connect = function (this: Client, callback?: (...args: unknown[]) => void) {
    if (!callback) return connect.call(this);
    const end = scheduler.begin();
    return connect.call(this, (...args) => {
      end();
      callback(...args);
    });
  } as typeof Client.prototype.connect;
}

/** A statement in a few words: what it does to which table, and to whom. */
function nameOf(text: string, [statement, values]: Parameters<Query>): string {
  const sql = text.replaceAll(/\s+/g, ' ');
  const verbs = sql.match(
    /(INSERT INTO|UPDATE|DELETE FROM|FROM) (?!unnest|\()[a-z_]+|FOR (NO KEY )?UPDATE( SKIP LOCKED)?/g,
  );
  const params =
    typeof statement === 'string' ? values : (statement as { values?: unknown }).values;
  const subject = Array.isArray(params) ? params.flat().find((one) => typeof one === 'string') : '';
  const what = [...new Set(verbs ?? [sql.slice(0, 60)])].join(', ');
  return `${what}${subject ? ` (${String(subject).slice(-12)})` : ''}`;
}

/**
 * Timers that the product's own code sets become steps; those of packages stay real. Longer ones than
 * `longestMs` never fire.
 */
export function instrumentTimers(scheduler: Scheduler, longestMs: number): void {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const clearing = new Map<object, () => void>();
  const none = (): void => undefined;
  const replacement = (callback: () => void, ms?: number, ...args: unknown[]): unknown => {
    const caller = scheduler.current && new Error().stack?.split('\n')[2];
    if (!caller?.includes('/libs/')) return set(callback, ms, ...args);
    const handle: object = { unref: () => handle, ref: () => handle };
    const isStep = (ms ?? 0) <= longestMs;
    const stop = isStep ? scheduler.timer(`timer of ${Math.round(ms ?? 0)} ms`, callback) : none;
    clearing.set(handle, stop as () => void);
    return handle;
  };
  globalThis.setTimeout = Object.assign(replacement, set);
  globalThis.clearTimeout = ((handle: never) => {
    const stop = clearing.get(handle);
    if (!stop) return clear(handle);
    clearing.delete(handle);
    stop();
  }) as typeof clearTimeout;
}

/** The estimate of the database's clock is exact, and machines run as long as the shop's time. */
export function instrumentClock(time: FakeTime): void {
  os.uptime = () => time.uptimeMs / 1_000;
  DatabaseClock.prototype.nowMs = () => time.nowMs;
  DatabaseClock.prototype.measure = async () => new Date(time.nowMs);
}
