import { inTransaction } from '@app/timeout';
import { paidOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { SettleRefunds } from '../money/settle-refunds';
import { NamesInLogs } from '../order/names-in-logs';
import { recordAction } from '../order/operator-action';
import { SigningKey } from '../order/signing-key';
import { CreateRefund } from './create-refund';
import { ExportCustomer } from './export-customer';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

const exportOf = (customer: string) =>
  new ExportCustomer(world.dataSource, new NamesInLogs(new SigningKey(world.dataSource))).export(
    customer,
  );
const because = (reason: string) => ({ actor: 'olga', reason });

it('gives all that is kept of an order: each refund, and what operators and providers wrote', async () => {
  const order = await paidOrder(world, { customerId: 'zora' });
  const refund = (reason: string) =>
    world.get(CreateRefund).create(order.id, { ...because(reason), amount: 300 });
  const first = (await refund('Zora called')).refundIds[0] as string;
  const second = (await refund('Zora called again')).refundIds[0] as string;
  const why = 'the account of Zora is closed';
  const failed = { state: 'FAILED', providerRefundId: 'r1', why, isForGood: true } as const;
  await inTransaction(world.dataSource, (tx) =>
    world.get(SettleRefunds).settle(tx, first, 1, failed, 'webhook'),
  );
  await world.rows(`UPDATE payments SET error = 'no word of Zora', failure = 'no such Zora'`);
  const [webhook] = await world.rows<{ id: string }>('SELECT id FROM webhook_events');
  await inTransaction(world.dataSource, async (tx) => {
    await recordAction(tx, 'deadline.release', 'deadline', [order.id], because('Zora waits'));
    await recordAction(tx, 'payment.keep', 'payment', [order.paymentId], because('so Zora says'));
    await recordAction(tx, 'webhook.replay', 'webhook', [webhook?.id as string], because('Zora'));
  });

  const exported = await exportOf('zora');
  const [told] = exported.orders;
  expect(told?.payments).toMatchObject([
    { id: order.paymentId, error: 'no word of Zora', failure: 'no such Zora' },
  ]);
  expect(told?.refunds).toMatchObject([
    { id: first, amount: 300, status: 'needs_attention', error: why },
    { id: second, amount: 300, status: 'requested', error: null },
  ]);
  expect(told?.movements.map(({ kind, reason }) => [kind, reason])).toContainEqual([
    'refund_failed',
    why,
  ]);
  expect(told?.webhooks).toMatchObject([{ id: webhook?.id, type: 'payment.succeeded' }]);
  expect(told?.actions.map(({ subjectKind, reason }) => [subjectKind, reason])).toEqual([
    ['refund', 'Zora called'],
    ['refund', 'Zora called again'],
    ['deadline', 'Zora waits'],
    ['payment', 'so Zora says'],
    ['webhook', 'Zora'],
  ]);
  expect(JSON.stringify(exported)).not.toContain('olga');
});

it('gives of each order what is its own', async () => {
  for (const reason of ['one', 'two']) {
    const { id } = await paidOrder(world, { customerId: 'zita' });
    await world.get(CreateRefund).create(id, { ...because(reason), amount: 300 });
  }
  const { orders } = await exportOf('zita');
  expect(orders.map(({ actions }) => actions.map(({ reason }) => reason))).toEqual([
    ['one'],
    ['two'],
  ]);
  for (const { payments, refunds, movements, webhooks } of orders) {
    const mine = payments.map(({ id }) => id);
    for (const list of [refunds, movements, webhooks]) {
      expect(new Set(list.map(({ paymentId }) => paymentId))).toEqual(new Set(mine));
    }
  }
});
