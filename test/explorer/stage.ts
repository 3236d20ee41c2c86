import { migrate } from '@app/orders';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database';
import type { World } from '../support/world';
import {
  FAKE_CLOCK_SQL,
  type FakeTime,
  instrumentClock,
  instrumentConnecting,
  instrumentPostgres,
  instrumentTimers,
} from './instrument';
import { Scheduler } from './scheduler';
import { LockStore } from './shared-lock';

/** The fake clock before the real one; the tables are where it is. */
const PATH = 'fake,pg_catalog';

/** What programs are played on: a database of their own, its time, and everybody's next step. */
export class Stage {
  readonly time: FakeTime = { nowMs: 0, earlyIds: false };
  readonly scheduler = new Scheduler((pids) => this.#findBlocked(pids));
  readonly locks = new LockStore(this.scheduler);

  private constructor(
    private readonly database: TestDatabase,
    /** Leads to the database, and within it to the fake clock. */
    readonly url: string,
    readonly monitor: Client,
  ) {
    instrumentClock(this.time);
    instrumentTimers(this.scheduler);
    instrumentConnecting(this.scheduler);
    instrumentPostgres(this.scheduler, this.time);
  }

  static async open(): Promise<Stage> {
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
    url.searchParams.set('options', `-c search_path=${PATH}`);
    await migrate({ DATABASE_URL: url.href });
    return new Stage(database, url.href, monitor);
  }

  async close(): Promise<void> {
    await this.monitor.end();
    await this.database.drop();
  }

  async empty(): Promise<void> {
    await this.monitor.query(EMPTY);
  }

  /** A connection that nobody schedules: somebody outside the shop. */
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
  ...['unfolded_stock_movements', 'stock_movements'],
]
  .map((table) => `DELETE FROM ${table}`)
  .join(';');
