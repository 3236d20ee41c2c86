import { createDataSource } from '@app/orders';
import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../support/database';
import { insertOrders, insertProduct, TEST_SKU } from '../support/insert-orders';
import { openWorld, type World } from '../support/world';
import { act, type Outside, type Surroundings } from './actors';
import { findFaults, heal } from './checks';
import {
  FAKE_CLOCK_SQL,
  type FakeTime,
  instrumentClock,
  instrumentConnecting,
  instrumentPostgres,
  instrumentTimers,
} from './instrument';
import { describeAction, describeProgram, type Program, PROCESSES } from './program';
import { type Actor, Scheduler } from './scheduler';
import { LockStore, SharedLock } from './shared-lock';
import { NoopLock } from '@app/timeout';

/** Machines are an hour ahead of the database here: whoever decides by theirs closes too early. */
const MACHINES_AHEAD_MS = 3_600_000;
const STOCK = 8;
/** Things that happen to processes, not in them. */
const OUTSIDE = -1;
const OUTSIDE_ACTIONS = ['advance', 'crash', 'lose locks', 'lose redis'];

/** A program that broke a promise, with the steps that led there. */
export class BrokenPromise extends Error {
  constructor(
    readonly faults: readonly string[],
    program: Program,
    trace: readonly string[],
  ) {
    super(
      [...faults, '', describeProgram(program), '', ...trace.map((line) => `  ${line}`)].join('\n'),
    );
    this.name = 'BrokenPromise';
  }
}

/** Runs programs, one after the other, on the real modules and a database of its own. */
export class Explorer {
  readonly #time: FakeTime = { nowMs: 0 };
  readonly #scheduler = new Scheduler((pids) => this.#findBlocked(pids));
  readonly #locks = new LockStore(this.#scheduler);
  readonly #processes = new Map<string, World>();
  /** Where all processes share the provider and the stream. */
  #first: World | undefined;

  private constructor(
    private readonly database: TestDatabase,
    private readonly monitor: Client,
  ) {
    instrumentClock(this.#time);
    instrumentTimers(this.#scheduler);
    instrumentConnecting(this.#scheduler);
    instrumentPostgres(this.#scheduler, this.#time);
  }

  static async open(): Promise<Explorer> {
    const database = await createTestDatabase();
    const monitor = new Client({ connectionString: database.url });
    await monitor.connect();
    for (const sql of FAKE_CLOCK_SQL) await monitor.query(sql);
    const name = new URL(database.url).pathname.slice(1);
    await monitor.query(`ALTER DATABASE ${name} SET search_path = fake, pg_catalog, public`);
    await monitor.query(`ALTER DATABASE ${name} SET deadlock_timeout = '20ms'`);
    await monitor.query('SET search_path = fake, pg_catalog, public');
    await monitor.query('SET session_replication_role = replica');
    const dataSource = createDataSource({ DATABASE_URL: database.url }, 'migrations', 1);
    await dataSource.initialize();
    await dataSource.runMigrations();
    await dataSource.destroy();
    return new Explorer(database, monitor);
  }

  async close(): Promise<void> {
    await this.monitor.end();
    await this.database.drop();
  }

  /** @throws {BrokenPromise} when a promise does not hold afterwards */
  async run(program: Program): Promise<void> {
    this.#time.nowMs = Date.now() - MACHINES_AHEAD_MS;
    const used: World[] = [];
    for (let i = 0; i < PROCESSES; i++) used.push(await this.#process(program.lock, i));
    const outside = await this.#prepare(used[0] as World, program);
    const faults = await this.#play(program, outside);
    this.#locks.isAway = false;
    this.#locks.lose();
    // Whoever crashed is started again.
    const world = await this.#process(program.lock, 0);
    faults.push(...(await heal(world, outside, this.#time)));
    faults.push(...(await findFaults(world, [...new Set([world, ...used])], outside)));
    if (faults.length === 0) return;
    throw new BrokenPromise(faults, program, this.#scheduler.trace);
  }

  async #play(program: Program, outside: Outside): Promise<string[]> {
    const { lock, actions, schedule } = program;
    const around: Surroundings = {
      outside,
      time: this.#time,
      locks: this.#locks,
      isDead: () => this.#scheduler.isDead,
      world: (process) => this.#processes.get(`${lock} ${process}`) as World,
      crash: (process) => this.#crash(`${lock} ${process}`, process),
    };
    const actors = actions.map((action, index) => {
      const isOutside = OUTSIDE_ACTIONS.includes(action.do);
      const actor: Actor = {
        name: `${index} ${describeAction(action)}`,
        process: isOutside ? OUTSIDE : action.process,
      };
      return { actor, act: () => act(action, around) };
    });
    try {
      await this.#scheduler.run(actors, schedule);
      return [];
    } catch (error) {
      // Whatever it left running would disturb the next program.
      for (let i = 0; i < PROCESSES; i++) await this.#discard(`${lock} ${i}`);
      return [String(error)];
    }
  }

  async #prepare(world: World, { orders, answers }: Program): Promise<Outside> {
    world.provider.entries.clear();
    world.provider.unreachable = answers === 'lost' ? 'after' : undefined;
    world.stream.events.splice(0);
    world.provider.around = (call, when) =>
      this.#scheduler.step(`provider: ${call}, ${when} its effect`, async () => undefined);
    await this.monitor.query(EMPTY);
    await insertProduct(world, TEST_SKU, STOCK);
    const inserted: { id: string; amount: number; paymentIds: string[] }[] = [];
    for (const { payment, latePayment, closesInMs } of orders) {
      const wanted = { count: 1, closesInMs, latePayment };
      const first = payment === 'two open' ? 'open' : payment;
      const given = first === 'none' ? wanted : { ...wanted, payment: first };
      const [order] = await insertOrders(world, given);
      if (!order) throw new Error('No order was inserted');
      const paymentIds = order.paymentId ? [order.paymentId] : [];
      if (payment === 'two open') paymentIds.push(await insertPayment(world, order.id));
      inserted.push({ ...order, paymentIds });
    }
    for (const { paymentIds, amount } of inserted) {
      for (const paymentId of paymentIds) {
        world.provider.open({ paymentId, amount, currency: 'EUR' });
      }
    }
    return {
      provider: world.provider,
      orderIds: inserted.map(({ id }) => id),
      paymentIds: inserted.map(({ paymentIds }) => paymentIds),
      posted: [],
      acknowledged: new Set(),
      placed: [],
      toldClosed: new Set(),
      unexpected: [],
    };
  }

  /** A process of the shop: the module with connections, groups and drains of its own. */
  async #process(lock: Program['lock'], index: number): Promise<World> {
    const key = `${lock} ${index}`;
    const known = this.#processes.get(key);
    if (known) {
      (known.told as unknown[]).splice(0);
      return known;
    }
    const world = await openWorld({
      databaseUrl: this.database.url,
      lock: lock === 'on' ? new SharedLock(this.#locks) : new NoopLock(),
      ...(this.#first ? { beside: this.#first } : {}),
    });
    this.#first ??= world;
    this.#processes.set(key, world);
    return world;
  }

  /** kill -9: no statement of it follows, its transactions vanish, its connections too. */
  async #crash(key: string, index: number): Promise<void> {
    this.#scheduler.kill(index);
    await this.#discard(key);
  }

  async #discard(key: string): Promise<void> {
    const world = this.#processes.get(key);
    if (!world) return;
    this.#processes.delete(key);
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

/** A second attempt to pay an order; the buyer may well finish both. */
async function insertPayment(world: World, orderId: string): Promise<string> {
  const [row] = await world.rows<{ id: string }>(
    `INSERT INTO payments (id, order_id, provider, provider_payment_id, amount, currency, expires_at)
     SELECT n.id, o.id, 'sandbox', 'pay-' || n.id, o.amount, o.currency, o.closes_at
       FROM orders o, (SELECT gen_random_uuid() AS id) AS n WHERE o.id = $1 RETURNING id`,
    [orderId],
  );
  return (row as { id: string }).id;
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
