import { type Accountable, type Difference, Reconcile } from '@app/orders';
import { beginHeldOpen } from '../support/held-open';
import { endHost, lastcallJson } from '../support/lastcall';
import { type StartedShop, startShop } from '../support/shop';

describe('a notice that never comes', () => {
  let shop: StartedShop;

  beforeAll(async () => {
    shop = await startShop();
    await shop.faults({ dropWebhooks: true });
  });
  afterAll(async () => {
    await endHost();
    await shop?.close();
  });

  it('is not needed: the close asks, and finds the money', async () => {
    const { orderId, providerId } = await shop.placeWithPayment();
    await shop.buyerPays(providerId);
    await shop.passDeadline([orderId]);
    await shop.untilOrder(orderId, 'paid');
    expect(await shop.events(providerId, 'payment.succeeded')).toMatchObject([
      { status: 'dropped' },
    ]);
    await shop.untilSound();
  });

  it('is made up for by reconciling, where the order was closed before the money came', async () => {
    const { orderId, paymentId, providerId } = await shop.placeWithPayment();
    await shop.passDeadline([orderId]);
    await shop.untilOrder(orderId, 'closed');
    await shop.buyerPays(providerId, { afterClose: true });
    expect(await shop.troubles()).not.toEqual([]);

    const found: Difference[] = [];
    // Before the payments of both tests, however long they took.
    const since = new Date(Date.now() - 3_600_000);
    const operator = { actor: 'eve', reason: 'the notice was lost' };
    const look = (fixFor?: Accountable) =>
      shop.app.app
        .get(Reconcile)
        .run({ since, fixFor, onDifference: (difference) => void found.push(difference) });
    expect(await look()).toMatchObject({ checked: 2, differences: 1, fixed: 0 });
    expect(found).toMatchObject([
      { kind: 'different', subject: 'payment', what: 'status', paymentId, fixable: true },
    ]);
    const args = ['reconcile', '--since', '1h', '--fix', '--reason', operator.reason];
    const held = await beginHeldOpen(shop.app.dataSource);
    await held.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
    const partly = await lastcallJson(shop.app.config, args);
    expect(partly).toMatchObject({ code: 5, result: { failed: 1, found: [{ failed: true }] } });
    expect(partly.stderr).toContain('warning: reconcile: ');
    await held.rollbackTransaction();
    await held.release();
    expect(await look(operator)).toMatchObject({ checked: 2, differences: 1, fixed: 1 });
    expect(
      await shop.app.rows('SELECT action, actor, reason, subject_id FROM operator_actions'),
    ).toEqual([{ action: 'reconcile.settle', ...operator, subject_id: paymentId }]);
    await shop.untilRefunded(orderId);
    expect(await look(operator)).toMatchObject({ checked: 2, differences: 0, fixed: 0 });
    await shop.untilSound();
  });
});
