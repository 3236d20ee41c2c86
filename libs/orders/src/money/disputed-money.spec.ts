import { brokenInvariants, moneyOf, type Placed } from '../../../../test/support/money';
import { openWorld, type World } from '../../../../test/support/world';
import { ShipOrder } from '../fulfilment/ship-order';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());
afterEach(async () => expect(await brokenInvariants(world)).toEqual([]));

const OLGA = { actor: 'olga', reason: 'case 9' };

const { paid, disputed, read, refundsOf } = moneyOf(() => world);
const ship = ({ id }: Placed) => world.get(ShipOrder).ship(id, 'mia');

describe('a dispute', () => {
  it('stops shipping, and says so, until it is won', async () => {
    const order = await paid();
    await disputed(order, 'opened');
    expect((await read(order)).balance).toMatchObject({ disputed: 1_000 });
    await expect(ship(order)).rejects.toMatchObject({
      ...{ code: 'order_not_shippable', fields: { why: 'disputed' } },
    });
    await disputed(order, 'won');
    // Told late, of what is over.
    await disputed(order, 'opened');
    expect((await read(order)).balance).toMatchObject({ disputed: 0 });
    expect((await ship(order)).status).toBe('shipped');
  });

  it('that is lost cancels an order that has not been shipped, and refunds nothing', async () => {
    const order = await paid();
    await disputed(order, 'lost');
    await disputed(order, 'opened');
    expect(await read(order)).toMatchObject({ status: 'canceled', closeReason: 'dispute_lost' });
    expect(await refundsOf(order)).toEqual([]);
  });

  it('keeps a refund from being sent, and a lost one cancels it', async () => {
    const order = await paid();
    // Not by a sweep: a slow one would come to the refund as well, before the dispute.
    await world.get(CancelOrderByOperator).cancel(order.id, OLGA);
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested' }]);
    await disputed(order, 'opened');
    const asked = jest.spyOn(world.provider, 'refund');
    const again = async () => {
      await world.rows(
        `UPDATE deadlines SET due_at = now() - interval '1 second' WHERE kind = 'refund'
            AND subject_id IN (SELECT id FROM refunds WHERE payment_id = $1)`,
        [order.paymentId],
      );
      await world.timeouts.runSweep();
    };
    await again();
    expect(await refundsOf(order)).toMatchObject([{ status: 'requested' }]);
    await disputed(order, 'lost');
    await again();
    expect(await refundsOf(order)).toMatchObject([{ status: 'canceled' }]);
    const { paymentId } = order;
    expect(asked).not.toHaveBeenCalledWith(expect.objectContaining({ paymentId }));
  });

  it('pauses the receipt that comes by itself, and not the customer who confirms it', async () => {
    const [waiting, confirmed] = [await paid(), await paid()];
    for (const order of [waiting, confirmed]) {
      await ship(order);
      await disputed(order, 'opened');
      await world.rows(
        `WITH due AS (UPDATE orders SET receive_within_ms = 0 WHERE id = $1 RETURNING id, version)
         INSERT INTO deadlines (kind, due_at, subject_id, version)
         SELECT 'receipt', now(), id, version FROM due ON CONFLICT DO NOTHING`,
        [order.id],
      );
    }
    await world.timeouts.runSweep();
    expect((await read(waiting)).status).toBe('shipped');
    const { customer_id: customer } = (
      await world.rows<{ customer_id: string }>('SELECT customer_id FROM orders WHERE id = $1', [
        confirmed.id,
      ])
    )[0] as { customer_id: string };
    await world.get(ConfirmReceipt).confirm(confirmed.id, customer);
    expect((await read(confirmed)).status).toBe('completed');
    await disputed(waiting, 'won');
    await world.rows(
      `UPDATE deadlines SET due_at = now() - interval '1 second' WHERE subject_id = $1`,
      [waiting.id],
    );
    await world.timeouts.runSweep();
    expect((await read(waiting)).status).toBe('completed');
  });

  it('that was lost and is said to be won is for an operator to look at', async () => {
    const order = await paid();
    await disputed(order, 'lost');
    await disputed(order, 'won');
    const [held] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM webhook_events WHERE result = 'dispute_contradiction'`,
    );
    expect(held?.n).toBe(1);
  });
});
