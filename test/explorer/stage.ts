import { migrate } from '@app/orders';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';
import type { World } from '../support/world';
import {
  FAKE_CLOCK_SQL,
  FakeTime,
  instrumentClock,
  instrumentConnecting,
  instrumentMonotonicClock,
  instrumentPostgres,
  instrumentTimers,
  type ShopsTimers,
} from './instrument';
import { Scheduler } from './scheduler';
import { LockStore } from './shared-lock';

/** Machines are an hour ahead of the database here: whoever decides by theirs closes too early. */
const MACHINES_AHEAD_MS = 3_600_000;
/** The first is for new payments. */
export const PROVIDERS = ['sandbox', 'other'] as const;

interface Beginning {
  /** True: transactions have their ids as they begin, so that ids and commits differ in order. */
  readonly earlyIds: boolean;
  readonly answersAreLost?: boolean;
}

/** The fake clock before the real one; the tables are where it is. */
const PATH = 'fake,pg_catalog';

/** What programs are played on: a database of their own, its time, and everybody's next step. */
export class Stage {
  readonly time = new FakeTime();
  readonly scheduler = new Scheduler((pids) => this.#findBlocked(pids));
  readonly locks = new LockStore(this.scheduler);
  readonly providers: readonly [LedgerProvider, LedgerProvider] = [
    new LedgerProvider(PROVIDERS[0]),
    new LedgerProvider(PROVIDERS[1]),
  ];

  private constructor(
    private readonly database: TestDatabase,
    /** Leads to the database, and within it to the fake clock. */
    readonly url: string,
    readonly monitor: Client,
    timers: ShopsTimers,
  ) {
    instrumentClock(this.time);
    instrumentTimers(this.scheduler, this.time, timers);
    instrumentConnecting(this.scheduler);
    instrumentPostgres(this.scheduler, this.time);
  }

  static async open(
    timers: ShopsTimers = { longestMs: Infinity, outsideFromMs: Infinity },
  ): Promise<Stage> {
    const database = await createTestDatabase();
    const monitor = new Client({ connectionString: database.url });
    await monitor.connect();
    for (const sql of FAKE_CLOCK_SQL) await monitor.query(sql);
    const name = new URL(database.url).pathname.slice(1);
    await monitor.query(`ALTER DATABASE ${name} SET search_path = ${PATH}`);
    await monitor.query(`ALTER DATABASE ${name} SET deadlock_timeout = '20ms'`);
    await monitor.query(`SET search_path = ${PATH}`);
    await monitor.query('SET session_replication_role = replica');
    const url = new URL(database.url);
    // Time is the program's: no limit of a session runs by the machine's.
    const limits = '-c idle_in_transaction_session_timeout=0 -c lock_timeout=0';
    url.searchParams.set('options', `-c search_path=${PATH} ${limits}`);
    await migrate({ DATABASE_URL: url.href });
    return new Stage(database, url.href, monitor, timers);
  }

  /** From now on all that waits and measures does so by the shop's time, which passes where all wait. */
  keepTime(): void {
    this.scheduler.waited = (ms) => this.time.pass(ms);
    instrumentMonotonicClock(this.time);
  }

  async close(): Promise<void> {
    await this.monitor.end();
    await this.database.drop();
  }

  /** Everything is gone, and it is now again. `answersAreLost`: of all providers, for a while. */
  async begin({ earlyIds, answersAreLost = false }: Beginning): Promise<void> {
    await this.monitor.query(EMPTY);
    // A full second, so that a program meets the same slots each time.
    this.time.nowMs = Math.floor((Date.now() - MACHINES_AHEAD_MS) / 1_000) * 1_000;
    this.time.earlyIds = earlyIds;
    for (const provider of this.providers) {
      provider.entries.clear();
      provider.unreachable = answersAreLost ? 'after' : undefined;
      provider.refundRefusal = undefined;
      provider.around = (call, when) =>
        this.scheduler.step(`${provider.name}: ${call}, ${when} its effect`, async () => undefined);
    }
  }

  /** Somebody else's transaction: it has an id, and ends when the schedule says. */
  async linger(outsider: Client): Promise<void> {
    const pid = (outsider as { processID?: number }).processID;
    await outsider.query('BEGIN');
    const begin = (): Promise<unknown> => outsider.query('SELECT pg_current_xact_id()');
    await this.scheduler.step('begins', begin, pid);
    await this.scheduler.step('ends', () => outsider.query('ROLLBACK'), pid);
  }

  /** A connection that nobody schedules: somebody outside the shop. To be made before a run. */
  async outsider(): Promise<Client> {
    const client = new Client({ connectionString: this.url });
    await client.connect();
    return client;
  }

  /** Its transactions vanish, its connections too. */
  async cutOff(world: World): Promise<void> {
    const pids = [world.dataSource, world.drainDataSource].flatMap(backendsOf);
    await this.monitor.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid = ANY ($1::int[])`,
      [pids],
    );
  }

  async #findBlocked(pids: readonly number[]): Promise<ReadonlySet<number>> {
    const { rows } = await this.monitor.query<{ pid: number }>(
      'SELECT pid FROM unnest($1::int[]) AS pid WHERE cardinality(pg_blocking_pids(pid)) > 0',
      [pids],
    );
    return new Set(rows.map(({ pid }) => pid));
  }
}

/** The connections that a pool has open; node-postgres shows them to nobody. */
function backendsOf({ driver }: DataSource): number[] {
  const pool = (driver as unknown as { master: { _clients: { processID?: number }[] } }).master;
  return pool._clients.flatMap(({ processID }) => processID ?? []);
}
const EMPTY = [
  ...['refunds', 'payments', 'order_items', 'order_events', 'idempotency_keys', 'deadlines'],
  ...['held_deadlines', 'webhook_events', 'orders', 'products'],
  ...['unfolded_stock_movements', 'stock_movements', 'order_returns', 'money_movements'],
  ...['timeout_brakes', 'machine_clocks', 'sweep_shards'],
]
  .map((table) => `DELETE FROM ${table}`)
  .join(';');
