import { randomUUID } from 'node:crypto';
import { ListProducts, PlaceOrder, ReadOrder, ReceiveWebhook } from '@app/orders';
import { isContention, Transaction } from '@app/timeout';
import { Client } from 'pg';
import { pause } from '../../libs/timeout/src/pause';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { startStopwatch } from '../support/stopwatch';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

/*
 * Somebody has a lock on a whole table, as CREATE INDEX has one and ALTER TABLE: all who need it wait
 * alike, hear so within seconds, and go on as before once it is free.
 */

/** As it is promised. */
const ANSWERED_WITHIN_MS = 3_000;
const TRY_TAKES_MS = 150;

let world: World;
let dba: Client;
beforeAll(async () => {
  world = await openWorld();
  dba = new Client({ connectionString: world.ownerUrl });
  await dba.connect();
  await insertProduct(world, 'A', 1_000_000);
  await insertProduct(world, 'B', 1_000_000);
}, 60_000);
afterAll(async () => {
  await dba?.end();
  await world?.close();
});
afterEach(async () => {
  await dba.query('ROLLBACK');
  // For a while webhooks are stored only; each row is to be met by those that are applied at once.
  await until('a webhook is applied at once', async () => {
    const { ids, receive } = await payments(1);
    await receive();
    return (await paidOf(ids)).length === 1;
  });
  await world.timeouts.runSweep();
});

async function lock(table: string, mode = 'SHARE'): Promise<void> {
  await dba.query('BEGIN');
  await dba.query(`LOCK TABLE lastcall.${table} IN ${mode} MODE`);
}

interface Answer {
  readonly tookMs: number;
  readonly outcome: 'done' | 'busy';
}

async function timed(work: Promise<unknown>): Promise<Answer> {
  const elapsedMs = startStopwatch();
  const outcome = await work.then(
    () => 'done' as const,
    (error: unknown) => {
      // What HTTP answers by `busy`.
      if (isContention(error)) return 'busy' as const;
      throw error;
    },
  );
  return { outcome, tookMs: elapsedMs() };
}

const outcomes = (answers: readonly Answer[]) => new Set(answers.map(({ outcome }) => outcome));
const slowest = (answers: readonly Answer[]): number =>
  Math.max(...answers.map(({ tookMs }) => tookMs));

const place = (sku = 'A') =>
  world.get(PlaceOrder).place({
    customerId: randomUUID(),
    idempotencyKey: randomUUID(),
    items: [{ sku, quantity: 1 }],
  });

/** Orders whose customers pay now, and what has their webhooks delivered. */
async function payments(
  count: number,
): Promise<{ ids: string[]; receive: () => Promise<Answer[]> }> {
  const orders = await insertOrders(world, { count, closesInMs: 60_000, payment: 'open' });
  const posted = orders.map(({ paymentId, amount }) => {
    world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
    const one = world.provider.pay(paymentId as string, new Date(Date.now() - 60_000));
    if (!one) throw new Error('The provider refused the payment');
    return one;
  });
  const receive = () =>
    Promise.all(
      posted.map(({ body, headers }) =>
        timed(world.get(ReceiveWebhook).receive('sandbox', body, headers)),
      ),
    );
  return { ids: orders.map(({ id }) => id), receive };
}

/** Since when somebody who waits for a lock has been at it, for each of them. */
const waits = async (): Promise<string[]> => {
  const sql = `SELECT xact_start::text AS since FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return (await world.rows<{ since: string }>(sql)).map(({ since }) => since);
};

const paidOf = (ids: readonly string[]) =>
  world.rows(`SELECT FROM orders WHERE status = 'paid' AND id = ANY ($1::uuid[])`, [ids]);

describe('while a table is locked', () => {
  it('60 who place orders all hear that it is busy, none after the others', async () => {
    await lock('orders');
    const answers = await Promise.all(Array.from({ length: 60 }, () => timed(place())));
    expect(outcomes(answers)).toEqual(new Set(['busy']));
    expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
    await dba.query('ROLLBACK');
    expect(outcomes([await timed(place())])).toEqual(new Set(['done']));
  });

  it('who has waited for a product waits for the table behind it for the rest of three seconds', async () => {
    const merchant = new Client({ connectionString: world.ownerUrl });
    await merchant.connect();
    const { now } = performance;
    try {
      await merchant.query(`BEGIN; SELECT FROM lastcall.products WHERE sku = 'B' FOR UPDATE`);
      const waiting = place('B');
      // Two groups behind it: it has been tried, and waits beside them.
      await place();
      await place();
      jest.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 1_500);
      // A try that is under way has begun at the time of before.
      const before = await waits();
      await until('it is tried anew', async () => {
        return !(await waits()).some((one) => before.includes(one));
      });
      await lock('products');
      const beganMs = performance.now();
      const answer = timed(waiting);
      await merchant.query('ROLLBACK');
      expect(await answer).toMatchObject({ outcome: 'busy' });
      // By the clock, whatever the machine is at: it waits for a second less, by Postgres's limits.
      expect(performance.now() - beganMs).toBeLessThan(ANSWERED_WITHIN_MS - 1_500);
    } finally {
      jest.restoreAllMocks();
      await merchant.end();
    }
  });

  it.each([
    ['SHARE', 'orders'],
    ['ACCESS EXCLUSIVE', 'orders'],
    ['ACCESS EXCLUSIVE', 'payments'],
    ['ACCESS EXCLUSIVE', 'order_items'],
  ])(
    '60 webhooks are stored, and pay their orders once it is free (%s, %s)',
    async (mode, table) => {
      const { ids, receive } = await payments(60);
      await lock(table, mode);
      const answers = await receive();
      expect(outcomes(answers)).toEqual(new Set(['done']));
      expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
      await dba.query('ROLLBACK');
      await world.timeouts.runSweep();
      expect(await paidOf(ids)).toHaveLength(60);
    },
  );

  it.each([
    ['SHARE', 'webhook_events'],
    ['ACCESS EXCLUSIVE', 'webhook_events'],
    ['ACCESS EXCLUSIVE', 'near_deadlines'],
  ])(
    '60 webhooks that cannot be stored hear so, and pay once sent again (%s, %s)',
    async (mode, table) => {
      const { ids, receive } = await payments(60);
      await lock(table, mode);
      const answers = await receive();
      expect(outcomes(answers)).toEqual(new Set(['busy']));
      expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
      await dba.query('ROLLBACK');
      expect(outcomes(await receive())).toEqual(new Set(['done']));
      await world.timeouts.runSweep();
      expect(await paidOf(ids)).toHaveLength(60);
    },
  );

  it('a webhook that somebody else is storing hears so as soon, and is stored once they have not', async () => {
    const { ids, receive } = await payments(1);
    expect(outcomes(await receive())).toEqual(new Set(['done']));
    await dba.query(
      `CREATE TEMP TABLE stored AS
         WITH gone AS (DELETE FROM lastcall.webhook_events RETURNING *) SELECT * FROM gone`,
    );
    await dba.query('BEGIN');
    await dba.query('INSERT INTO lastcall.webhook_events SELECT * FROM stored');
    const { rows } = Transaction.prototype;
    let tries = 0;
    // Each try to store it takes a while, as on a busy machine: those who have waited in vain have no time for more.
    jest.spyOn(Transaction.prototype, 'rows').mockImplementation(async function (
      this: Transaction,
      ...[sql, params]: Parameters<Transaction['rows']>
    ) {
      if (sql.startsWith('SET LOCAL lock_timeout')) {
        tries += 1;
        await pause(TRY_TAKES_MS);
      }
      return rows.call(this, sql, params);
    });
    const answers = await receive();
    jest.restoreAllMocks();
    expect(outcomes(answers)).toEqual(new Set(['busy']));
    expect(tries).toBe(1);
    expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
    await dba.query('ROLLBACK');
    expect(outcomes(await receive())).toEqual(new Set(['done']));
    expect(await paidOf(ids)).toHaveLength(1);
  });

  it('those who do not need it are answered, however many do', async () => {
    const { order } = await place();
    const read = () => timed(world.get(ReadOrder).readOfAnyCustomer(order.id));
    await lock('payments', 'ACCESS EXCLUSIVE');
    const reads = Promise.all(Array.from({ length: 200 }, read));
    const products = timed(world.get(ListProducts).list());
    const [stranger, readers] = await Promise.all([products, reads]);
    expect(stranger.outcome).toBe('done');
    expect(outcomes(readers)).toEqual(new Set(['busy']));
    expect(slowest([stranger, ...readers])).toBeLessThan(ANSWERED_WITHIN_MS);
    await dba.query('ROLLBACK');
    expect(outcomes([await read()])).toEqual(new Set(['done']));
  });

  it('the timer store is not to blame where alarms cannot be armed, and closing goes on', async () => {
    await insertOrders(world, { count: 10, closesInMs: -1_000, sku: 'A' });
    await lock('far_deadlines', 'ACCESS EXCLUSIVE');
    const before = world.told.length;
    expect(await world.timeouts.runSweep()).toMatchObject({ changed: 10 });
    const told = world.told.slice(before);
    expect(told.filter(({ name }) => name === 'timerStore')).toEqual([]);
    const failures = told.filter(({ name }) => name === 'failed');
    expect(failures.map(({ args: [what] }) => what)).toEqual(['arm alarms']);
  });

  it('overdue orders stay as they are, and close as fast as ever once it is free', async () => {
    await insertOrders(world, { count: 3_000, closesInMs: -1_000, sku: 'A' });
    await lock('order_events');
    const waiting = () =>
      world.rows(`SELECT due_at, subject_id FROM deadlines WHERE kind = 'payment' ORDER BY 2`);
    const before = await waiting();
    await expect(world.timeouts.runSweep()).rejects.toThrow('A table is locked');
    expect(await waiting()).toEqual(before);
    await dba.query('ROLLBACK');
    expect(await world.timeouts.runSweep()).toMatchObject({ changed: 3_000, putBack: 0 });
  });
});
