import { randomUUID } from 'node:crypto';
import { LastcallError, PlaceOrder, ReceiveWebhook } from '@app/orders';
import { Client } from 'pg';
import {
  insertOrders,
  type InsertedOrder,
  insertProduct,
  TEST_SKU,
} from '../support/insert-orders';
import { brokenInvariants } from '../support/money';
import type { Posted } from '../support/ledger-provider';
import { startStopwatch } from '../support/stopwatch';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

/*
 * Somebody is about to write the very row that one request is to write, which nobody can see before: all who
 * share its transaction wait for that once, and never for as long again.
 */

/** A lock is waited for for three seconds at the most. */
const ALL_WITHIN_MS = 4_500;
const HELD = 77;

let world: World;
let other: Client;
beforeAll(async () => {
  world = await openWorld();
  await insertProduct(world);
  other = new Client({ connectionString: world.config.DATABASE_URL });
  await other.connect();
}, 60_000);
afterAll(async () => {
  await other?.end();
  await world?.close();
});
afterEach(async () => {
  await other.query('ROLLBACK');
  expect(await brokenInvariants(world)).toEqual([]);
});

it('199 of 200 placings are placed, and the one that needs it hears that it is busy', async () => {
  const keys = Array.from({ length: 200 }, () => [randomUUID(), randomUUID()] as const);
  await other.query('BEGIN');
  await other.query(
    `INSERT INTO idempotency_keys (customer_id, key, body_hash, order_id)
     VALUES ($1, $2, '', gen_random_uuid())`,
    [...(keys[HELD] as readonly string[])],
  );
  const items = [{ sku: TEST_SKU, quantity: 1 }];
  const tookMs = startStopwatch();
  const answers = await Promise.allSettled(
    keys.map(([customerId, idempotencyKey]) =>
      world.get(PlaceOrder).place({ customerId, idempotencyKey, items }),
    ),
  );
  expect(tookMs()).toBeLessThan(ALL_WITHIN_MS);
  const refused = answers.flatMap((answer, nth) =>
    answer.status === 'rejected' ? [[nth, answer.reason]] : [],
  );
  expect(refused).toEqual([[HELD, expect.any(LastcallError)]]);
  expect(refused[0]?.[1]).toMatchObject({ code: 'busy' });
});

it('99 of 100 webhooks are stored and applied, and the one that needs it once it is free', async () => {
  const placed = await insertOrders(world, { count: 100, closesInMs: 60_000, payment: 'open' });
  const paymentIds = placed.map(({ paymentId }) => paymentId as string);
  const notices = placed.map(({ amount }, nth) => {
    const paymentId = paymentIds[nth] as string;
    world.provider.open({ paymentId, amount, currency: 'EUR' });
    return world.provider.pay(paymentId, new Date()) as Posted;
  });
  await other.query('BEGIN');
  await other.query(
    `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source)
     VALUES ($1, $2, 'captured', $3, 1, 'EUR', 'operator')`,
    [(placed[HELD] as InsertedOrder).id, paymentIds[HELD], `pay-${paymentIds[HELD]}`],
  );
  const tookMs = startStopwatch();
  await Promise.all(
    notices.map(({ body, headers }) => world.get(ReceiveWebhook).receive('sandbox', body, headers)),
  );
  expect(tookMs()).toBeLessThan(ALL_WITHIN_MS);
  const unpaid = async (): Promise<number[]> => {
    const rows = await world.rows<{ nth: number }>(
      `SELECT n::int - 1 AS nth FROM unnest($1::uuid[]) WITH ORDINALITY AS p (id, n)
         JOIN payments USING (id) WHERE status <> 'succeeded' ORDER BY n`,
      [paymentIds],
    );
    return rows.map(({ nth }) => nth);
  };
  const untilUnpaid = (expected: readonly number[]) =>
    until('the others are paid', async () => {
      await world.timeouts.runSweep();
      return (await unpaid()).join() === expected.join();
    });
  await untilUnpaid([HELD]);
  await other.query('ROLLBACK');
  await untilUnpaid([]);
});
