import { type DueDeadline, inTransaction } from '@app/timeout';
import { anotherPayment } from '../../../../test/support/another-payment';
import type { Posted } from '../../../../test/support/ledger-provider';
import { openOrder, receive } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { ClosingDeadline } from './closing.deadline';
import { ForceCloseOrder } from './force-close-order';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** The next deadline by which the order's provider is asked, handled as when it is due. */
async function comesDue(orderId: string): Promise<void> {
  const due = await world.rows<Pick<DueDeadline, 'version'>>(
    `DELETE FROM deadlines d USING (
       SELECT kind, due_at, subject_id FROM deadlines
        WHERE kind = 'closing' AND subject_id = $1 ORDER BY due_at LIMIT 1) AS next
      WHERE d.kind = next.kind AND d.due_at = next.due_at AND d.subject_id = next.subject_id
     RETURNING d.version`,
    [orderId],
  );
  await inTransaction(world.dataSource, (tx) =>
    world.get(ClosingDeadline).handle(
      due.map(({ version }) => {
        return { kind: 'closing', subjectId: orderId, version, dueAt: new Date(), failures: 0 };
      }),
      tx,
    ),
  );
}

it.each([0, 4, 8, 9, 10, 15])(
  'is told of once where the order is paid by another payment after %d times of asking',
  async (times) => {
    const order = await openOrder(world);
    const other = await anotherPayment(world, order.id, { status: 'open' });
    world.provider.open({ paymentId: other, amount: order.amount, currency: 'EUR' });
    world.provider.unreachable = 'before';
    await world.get(ForceCloseOrder).forceClose(order.id, { actor: 'olga', reason: 'case 9' });
    for (let n = 0; n < times; n++) await comesDue(order.id);
    world.provider.unreachable = undefined;
    await receive(world, world.provider.pay(other, new Date()) as Posted);
    for (let n = 0; n < 25; n++) await comesDue(order.id);
    const alerts = world.told.filter(({ name, args }) => {
      const [what, about] = args as [string, { readonly orderId?: string }];
      return name === 'alert' && what === 'closing_takes_long' && about.orderId === order.id;
    });
    expect(alerts.map(({ args }) => args[1])).toEqual([{ orderId: order.id, attempt: 10 }]);
  },
);
