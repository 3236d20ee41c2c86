import { randomUUID } from 'node:crypto';
import { PlaceOrder, ReceiveWebhook } from '@app/orders';
import { isContention } from '@app/timeout';
import { Client } from 'pg';
import { insertOrders, insertProduct } from '../support/insert-orders';
import { startStopwatch } from '../support/stopwatch';
import { openWorld, type World } from '../support/world';

/*
 * Somebody has a lock on a whole table, as CREATE INDEX has one and ALTER TABLE: all who need it wait
 * alike, hear so within seconds, and go on as before once it is free.
 */

/** Three tries of a second each, and what a busy machine adds. */
const ANSWERED_WITHIN_MS = 5_000;

let world: World;
let dba: Client;
beforeAll(async () => {
  world = await openWorld();
  dba = new Client({ connectionString: world.ownerUrl });
  await dba.connect();
  await insertProduct(world, 'A', 1_000_000);
}, 60_000);
afterAll(async () => {
  await dba?.end();
  await world?.close();
});
afterEach(() => dba.query('ROLLBACK'));

async function lock(table: string): Promise<void> {
  await dba.query('BEGIN');
  await dba.query(`LOCK TABLE lastcall.${table} IN SHARE MODE`);
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

const place = () =>
  world.get(PlaceOrder).place({
    customerId: randomUUID(),
    idempotencyKey: randomUUID(),
    items: [{ sku: 'A', quantity: 1 }],
  });

describe('while a table is locked', () => {
  it('60 who place orders all hear that it is busy, none after the others', async () => {
    await lock('orders');
    const answers = await Promise.all(Array.from({ length: 60 }, () => timed(place())));
    expect(outcomes(answers)).toEqual(new Set(['busy']));
    expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
    await dba.query('ROLLBACK');
    expect(outcomes([await timed(place())])).toEqual(new Set(['done']));
  });

  it('60 webhooks are stored, and pay their orders once it is free', async () => {
    const orders = await insertOrders(world, { count: 60, closesInMs: 60_000, payment: 'open' });
    const posted = orders.map(({ paymentId, amount }) => {
      world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
      const one = world.provider.pay(paymentId as string, new Date(Date.now() - 60_000));
      if (!one) throw new Error('The provider refused the payment');
      return one;
    });
    await lock('orders');
    const answers = await Promise.all(
      posted.map(({ body, headers }) =>
        timed(world.get(ReceiveWebhook).receive('sandbox', body, headers)),
      ),
    );
    expect(outcomes(answers)).toEqual(new Set(['done']));
    expect(slowest(answers)).toBeLessThan(ANSWERED_WITHIN_MS);
    await dba.query('ROLLBACK');
    await world.timeouts.runSweep();
    const paid = await world.rows(
      `SELECT FROM orders WHERE status = 'paid' AND id = ANY ($1::uuid[])`,
      [orders.map(({ id }) => id)],
    );
    expect(paid).toHaveLength(60);
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
