import { onFailpoint } from '@app/timeout';
import { erasingOf, LIMITED, WHY } from '../../../../test/support/erasing';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { paidOrder } from '../../../../test/support/paid-order';
import { historyIsOver } from '../../../../test/support/history-is-over';
import { openWorld, type World } from '../../../../test/support/world';
import { ListOrders, ReadOrder } from '../closing/read-order';
import { SealHistory } from '../events/seal-history';
import { verifyHistory } from '../events/verify-history';
import { NoEventStream } from '../events/event-stream';
import { RelayEvents } from '../events/relay-events';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { ShipOrder } from '../fulfilment/ship-order';
import { silentOrdersTelemetry } from '../order/telemetry';
import { CreateRefund } from './create-refund';
import { EraseCustomer } from './erase-customer';

let world: World;
const letGo: (() => void)[] = [];
beforeAll(async () => {
  world = await openWorld({ settings: LIMITED });
  await insertProduct(world);
});
afterEach(() => {
  onFailpoint(undefined);
  letGo.splice(0).forEach((open) => open());
  jest.restoreAllMocks();
});
afterAll(() => world?.close());

const { erase, place, past, leftOf } = erasingOf(() => world);

it('keeps no words of a provider that would not answer', async () => {
  const payment = { count: 1, closesInMs: 60_000, payment: 'open' } as const;
  const [order] = await insertOrders(world, { ...payment, customerId: 'zita' });
  const id = order?.id as string;
  await world.rows(
    `UPDATE payments SET status = 'closed', error = 'no answer about zita' WHERE order_id = $1`,
    [id],
  );
  await world.rows(
    `UPDATE orders SET status = 'closed', close_reason = 'payment_timeout', closed_at = now()
      WHERE id = $1`,
    [id],
  );
  await erase('zita');
  expect(await world.rows('SELECT error FROM payments WHERE order_id = $1', [id])).toEqual([
    { error: null },
  ]);
});

it('keeps no words of a provider about a payment that it did not open, or a refund that failed', async () => {
  const order = await paidOrder(world, { customerId: 'zora' });
  const words = 'the card of Zora Z. is expired';
  await world.rows(`UPDATE payments SET failure = $2 WHERE order_id = $1`, [order.id, words]);
  await world.rows(
    `INSERT INTO refunds (id, payment_id, reason, amount, currency, status, error)
     SELECT gen_random_uuid(), id, 'operator', 1, 'EUR', 'needs_attention', $2
       FROM payments WHERE order_id = $1`,
    [order.id, words],
  );
  await world.rows(
    `INSERT INTO money_movements (order_id, payment_id, kind, ref, amount, currency, source, reason)
     SELECT order_id, id, kind, 're', 1, 'EUR', 'webhook', CASE kind WHEN 'refund_succeeded' THEN 'by_hand' ELSE $2 END
       FROM payments, unnest('{refund_failed,refund_reversed,refund_succeeded}'::text[]) AS kind WHERE order_id = $1`,
    [order.id, words],
  );
  await world.get(ShipOrder).ship(order.id, 'mia');
  await world.get(ConfirmReceipt).confirm(order.id, 'zora');
  await erase('zora');
  const read = (table: string, of: string) =>
    world.rows(`SELECT * FROM ${table} WHERE ${of} ORDER BY 1`, [order.id]);
  const left = await Promise.all([
    read('payments', 'order_id = $1'),
    read('refunds', 'payment_id IN (SELECT id FROM payments WHERE order_id = $1)'),
    read('money_movements', 'order_id = $1'),
  ]);
  expect(JSON.stringify(left)).not.toContain('Zora');
  expect(JSON.stringify(left)).toContain('by_hand');
});

it('leaves a refund that is asked for once more as the one that it was, and nothing of the words', async () => {
  const { id, paymentId } = await paidOrder(world);
  const again = (reason: string, idempotencyKey = 'ann-9') =>
    world.get(CreateRefund).create(id, { actor: 'olga', reason, amount: 100, idempotencyKey });
  const { refundIds } = await again('a cup of ann was broken');
  await world.get(ShipOrder).ship(id, 'mia');
  await world.rows(`UPDATE orders SET customer_id = 'ann' WHERE id = $1`, [id]);
  await world.get(ConfirmReceipt).confirm(id, 'ann');
  await erase('ann');
  expect(await again('a cup of ann was broken')).toMatchObject({ replayed: true, refundIds });
  const refunds = await world.rows('SELECT FROM refunds WHERE payment_id = $1', [paymentId]);
  expect(refunds).toHaveLength(1);
  const kept = JSON.stringify(await world.rows('SELECT * FROM refund_keys'));
  expect(kept).not.toContain('ann-9');
  expect(await again('a saucer, too', 'another')).toMatchObject({ replayed: false });
});

it('is refused where the stream is in Redis, and this process has none: its reasons would stay there', async () => {
  await past('una');
  const before = await leftOf('una');
  const without = (dryRun: boolean) =>
    new EraseCustomer(world.dataSource, new NoEventStream()).erase('una', { ...WHY, dryRun });
  await world.rows(`UPDATE relay_cursor SET stream_place = '1-0'`);
  for (const dryRun of [true, false]) {
    await expect(without(dryRun)).rejects.toMatchObject({
      code: 'stream_elsewhere',
      message: expect.stringContaining('set REDIS_URL') as string,
    });
  }
  expect(await leftOf('una')).toEqual(before);
  // The shop has given Redis up, and a worker has seen that.
  await new RelayEvents(world.dataSource, new NoEventStream(), silentOrdersTelemetry).runOnce();
  expect(await without(false)).toMatchObject({ orders: 3, streamed: 0 });
});

/** Of a customer whom nobody knows: it is their reason that is refused, or they are not found. */
const refusalOf = (customer: string, reason: string) =>
  new EraseCustomer(world.dataSource, world.stream)
    .erase(customer, { actor: 'olivia', reason })
    .then(
      () => 'erased',
      ({ code }: { code: string }) => code,
    );

it.each([
  ['17', 'ticket 2017-4'],
  ['17', 'request 2026-17'],
  ['17', 'version 3.17.2 of the form, 175 lines'],
  ['bo', 'about bob, by an abbot'],
  ['an', 'the Ångström planet'],
])('takes %s for no part of "%s"', async (customer, reason) => {
  expect(await refusalOf(customer, reason)).toBe('customer_not_found');
});

it.each([
  ['17', 'customer 17 has asked'],
  ['17', 'asked by 17.'],
  ['17', '2017 (17)'],
  ['17', 'sub=17, case 4'],
  ['17', 'case_17'],
  ['bob', "Bob's request"],
  ['bob', 'bob@example.com has asked'],
  ['bob', 'case 17-bob'],
  ['auth0|5f.x', 'mail of auth0|5f.x, today'],
  ['*', 'it is * who asks'],
  ['Ægir', 'for ægir'],
])('lets no reason be kept that names %s: "%s"', async (customer, reason) => {
  expect(await refusalOf(customer, reason)).toBe('invalid_request');
});

it('leaves orders that nobody is called to read, nor to place others beside', async () => {
  await past('carol');
  const { pseudonym } = await erase('carol');
  const [{ id } = { id: '' }] = await world.rows<{ id: string }>(
    'SELECT id FROM orders WHERE customer_id = $1 LIMIT 1',
    [pseudonym],
  );
  await expect(world.get(ReadOrder).read(id, pseudonym)).rejects.toMatchObject({
    code: 'order_not_found',
  });
  await expect(place(pseudonym)).rejects.toThrow('"erased:"');
  // For operators they are there.
  const listed = await world.get(ListOrders).list({ customerId: pseudonym, limit: 10 });
  expect(listed.items).toHaveLength(3);
});

it('erases nobody twice: the seals of the history are over what stands for who was erased', async () => {
  await past('dora');
  await world.rows(
    `INSERT INTO order_events (order_id, version, type, from_status, to_status, by, actor, tx)
     SELECT id, 99, 'order.canceled', 'pending_payment', 'canceled', 'customer', 'dora', event_tx(pg_current_xact_id())
       FROM orders WHERE customer_id = 'dora'`,
  );
  await historyIsOver(world);
  await world.get(SealHistory).runOnce();
  const { pseudonym } = await erase('dora');
  const again = await refusalOf(pseudonym, WHY.reason);
  const { breaks } = await verifyHistory(world, null, 'all');
  expect([again, breaks]).toEqual(['invalid_request', []]);
});
