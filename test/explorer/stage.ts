import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '@app/orders';
import { Client, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { LedgerProvider } from '../support/ledger-provider';
import { slowness } from '../support/slowness';
import { FakeTime, instrumentClock, instrumentMonotonicClock, type Undo } from './fake-time';
import {
  FAKE_CLOCK_SQL,
  instrumentConnecting,
  instrumentPostgres,
  instrumentSharedWork,
  instrumentTimers,
  OURS,
  type ShopsTimers,
} from './instrument';
import { Scheduler, STUCK_MS } from './scheduler';
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

/** The fake clock before the real one; the tables are where it is, but for those of a shop's own. */
const PATH = 'fake,pg_catalog,public';
/** Where the product's tables are. */
export const SCHEMA = 'fake';

/** What is played with. */
interface Tables {
  /** Makes them in the database of this address, within {@link SCHEMA}. */
  readonly make: (url: string) => Promise<unknown>;
  /** All that a program may leave something in. */
  readonly names: readonly string[];
}

/** What programs are played on: a database of their own, its time, and everybody's next step. */
export class Stage {
  readonly time = new FakeTime();
  readonly scheduler = new Scheduler((pids) => this.#findBlocked(pids));
  readonly locks = new LockStore(this.scheduler);
  readonly providers: readonly [LedgerProvider, LedgerProvider] = [
    new LedgerProvider(PROVIDERS[0]),
    new LedgerProvider(PROVIDERS[1]),
  ];
  readonly #undo: Undo[];

  private constructor(
    private readonly database: TestDatabase,
    /** Leads to the database, and within it to the fake clock. */
    readonly url: string,
    readonly monitor: Client,
    timers: ShopsTimers,
    private readonly tables: Tables,
  ) {
    this.#undo = [
      instrumentClock(this.time),
      instrumentTimers(this.scheduler, this.time, timers),
      instrumentConnecting(this.scheduler),
      instrumentPostgres(this.scheduler, this.time, PATH),
      instrumentSharedWork(),
    ];
  }

  static async open(
    timers: ShopsTimers = { longestMs: Infinity, outsideFromMs: Infinity },
    tables: Tables = ORDERS,
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
    await tables.make(url.href);
    // Also of what is made by connections with a search path of their own.
    await monitor.query(DEFAULTS_BY_FAKE_CLOCK);
    return new Stage(database, url.href, monitor, timers, tables);
  }

  /** From now on all that waits and measures does so by the shop's time, which passes where all wait. */
  keepTime(): void {
    this.scheduler.waited = (ms) => this.time.pass(ms);
    this.#undo.push(instrumentMonotonicClock(this.time));
  }

  async close(): Promise<void> {
    for (const undo of this.#undo) undo();
    await this.monitor.end();
    await this.database.drop();
  }

  /** Everything is gone, and it is now again. `answersAreLost`: of all providers, for a while. */
  async begin({ earlyIds, answersAreLost = false }: Beginning): Promise<void> {
    const { names } = this.tables;
    await this.monitor.query(names.map((table) => `DELETE FROM ${table}`).join(';'));
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

  /**
   * After a run: what was left behind in the background goes on, until nobody is in the midst of a transaction. What
   * one has locked, or the turn that it has, would be had by nobody in any program that follows.
   */
  async comeToRest(): Promise<void> {
    this.scheduler.fireLeftTimers();
    const giveUpAtMs = performance.now() + STUCK_MS * slowness();
    for (;;) {
      const { rows } = await this.monitor.query<{ query: string }>(IN_THE_MIDST);
      const [left] = rows;
      if (!left) return;
      if (performance.now() > giveUpAtMs) {
        throw new Error(`Somebody is left in the midst of a transaction, after: ${left.query}`);
      }
      await delay(2);
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
  async cutOff(pools: readonly (DataSource | Pool)[]): Promise<void> {
    const pids = pools.flatMap(backendsOf);
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
function backendsOf(of: DataSource | Pool): number[] {
  const pool = 'driver' in of ? (of.driver as unknown as { master: Pool }).master : of;
  const { _clients: clients } = pool as unknown as { _clients: { processID?: number }[] };
  return clients.flatMap(({ processID }) => processID ?? []);
}

const IN_THE_MIDST = `
  SELECT query FROM pg_stat_activity
   WHERE datname = current_database() AND application_name LIKE '${OURS}%' AND xact_start IS NOT NULL
   ORDER BY xact_start LIMIT 1`;

const DEFAULTS_BY_FAKE_CLOCK = `
  DO $$ DECLARE one record; BEGIN
    FOR one IN SELECT table_name, column_name FROM information_schema.columns
                WHERE table_schema = '${SCHEMA}' AND column_default LIKE '%pg_catalog.now()%' LOOP
      EXECUTE format('ALTER TABLE ${SCHEMA}.%I ALTER %I SET DEFAULT ${SCHEMA}.now()', one.table_name, one.column_name);
    END LOOP;
  END $$`;

/** The order module's. */
const ORDERS: Tables = {
  make: (url) => migrate({ DATABASE_URL: url }),
  names: [
    ...['refunds', 'payments', 'order_items', 'order_events', 'idempotency_keys', 'deadlines'],
    ...['held_deadlines', 'webhook_events', 'orders', 'products'],
    ...['unfolded_stock_movements', 'stock_movements', 'order_returns', 'money_movements'],
    ...['timeout_brakes', 'machine_clocks', 'sweep_shards'],
    ...['webhook_deliveries', 'webhook_endpoints'],
  ],
};
