import { Client } from 'pg';
import { nobodysContext } from '../../libs/timeout/src/nobodys-context';
import type { FakeTime, Undo } from './fake-time';
import type { Scheduler } from './scheduler';

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
export const OURS = 'lastcall ';

/**
 * Every statement, commit and rollback of the product becomes a step, whichever way it takes to
 * node-postgres.
 */
export function instrumentPostgres(scheduler: Scheduler, time: FakeTime, path: string): Undo {
  const query = Client.prototype.query as unknown as Query;
  const inTransaction = new WeakSet<Client>();
  /** Nobody's session waits for a lock by the machine's time, or looks past the fake clock. */
  const settings = (): Record<string, string> => ({
    ...{ 'fake.now_ms': String(time.nowMs), search_path: path, lock_timeout: '0' },
  });
  const setTime = (client: Client, isLocal: boolean): Promise<unknown> => {
    const set = Object.entries(settings()).map(
      ([name, value]) => `set_config('${name}', '${value}', ${isLocal})`,
    );
    return query.call(client, `SELECT ${set.join(', ')}`);
  };
  const carryOut = async (client: Client, text: string, args: Parameters<Query>) => {
    if (!/^(COMMIT|ROLLBACK)/.test(text)) {
      if (!inTransaction.has(client)) await setTime(client, false);
      return query.apply(client, entersHost(text) ? limited(args, time.hostsLockLimit) : args);
    }
    inTransaction.delete(client);
    return query.apply(client, args);
  };
  const replacement: Query = async function (...args) {
    // Who waited for one of its pool's connections as it was killed is given one after that.
    if (scheduler.isDead) return new Promise<never>(() => undefined);
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
    if (text.startsWith('RESET ')) {
      // Nor is this: whoever sends it does not wait for it, and what goes by this connection next is behind it.
      const end = scheduler.begin();
      return query.apply(this, args).finally(end);
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
  return () => void (Client.prototype.query = query as never);
}

/** Before a shop's own code is called in a transaction of ours (libs/timeout/src/host/host-session.ts). */
const entersHost = (text: string): boolean =>
  text.includes("set_config('lock_timeout', coalesce($2");

/** A lock is given up before anybody else moves, or waited for: never as the machine is fast. */
function limited([statement, ...rest]: Parameters<Query>, limit: string): Parameters<Query> {
  const { values } = statement as { values?: unknown };
  if (!Array.isArray(values)) throw new Error('A host is entered in another way than it was');
  const [path, , names] = values as unknown[];
  return [{ ...(statement as { text: string }), values: [path, limit, names] }, ...rest] as never;
}

/** Making a connection is no step, but nothing else moves meanwhile. */
export function instrumentConnecting(scheduler: Scheduler): Undo {
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
  return () => void (Client.prototype.connect = connect as never);
}

/** What callers share is a step of the one who began it: actors are known by their context. */
export function instrumentSharedWork(): Undo {
  const { run } = nobodysContext;
  nobodysContext.run = (work) => work();
  return () => void (nobodysContext.run = run);
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

/** Which of the product's timers go by the shop's time. */
export interface ShopsTimers {
  /** No longer one ever fires. */
  readonly longestMs: number;
  /** Outside a run so long ones, and longer, fire as {@link FakeTime} passes; the others by the machine's, */
  readonly outsideFromMs: number;
  /** but not those that these set: parts of files' paths. */
  readonly outsideOf?: readonly string[];
}

/** Timers and intervals that the product's own code sets become steps; those of packages stay real. */
export function instrumentTimers(
  scheduler: Scheduler,
  time: FakeTime,
  { longestMs, outsideFromMs, outsideOf = [] }: ShopsTimers,
): Undo {
  const { setTimeout: set, clearTimeout: clear, setInterval: repeat, clearInterval } = globalThis;
  const clearing = new Map<unknown, () => void>();
  const none = (): void => undefined;
  /** By the machine's time: whoever asks has been called by who sets a timer. */
  const isReal = (ms: number): boolean => {
    const setter = new Error().stack?.split('\n')[3] ?? '';
    if (!setter.includes('/libs/')) return true;
    const isShort = ms < outsideFromMs && !outsideOf.some((file) => setter.includes(file));
    return !scheduler.current && isShort;
  };
  const later = (handle: object, ms: number, fire: () => void): void => {
    if (ms > longestMs) return void clearing.set(handle, none);
    clearing.set(handle, scheduler.timer(ms, fire) ?? time.after(ms, fire));
  };
  const newHandle = (): object => {
    const handle: object = { unref: () => handle, ref: () => handle };
    return handle;
  };
  const once = (callback: () => void, ms = 0, ...args: unknown[]): unknown => {
    if (isReal(ms)) return set(callback, ms, ...args);
    const handle = newHandle();
    later(handle, ms, callback);
    return handle;
  };
  const often = (callback: () => void, ms = 0, ...args: unknown[]): unknown => {
    if (isReal(ms)) return repeat(callback, ms, ...args);
    const handle = newHandle();
    const again = (): void =>
      later(handle, ms, () => {
        again();
        callback();
      });
    again();
    return handle;
  };
  const stop = (handle: unknown): void => {
    const end = clearing.get(handle);
    if (!end) return clear(handle as NodeJS.Timeout);
    clearing.delete(handle);
    end();
  };
  globalThis.setTimeout = Object.assign(once, set) as typeof setTimeout;
  globalThis.setInterval = Object.assign(often, repeat) as typeof setInterval;
  globalThis.clearTimeout = globalThis.clearInterval = stop as typeof clearTimeout;
  return () =>
    void Object.assign(globalThis, {
      ...{ setTimeout: set, setInterval: repeat, clearTimeout: clear, clearInterval },
    });
}
