import { type CrashingShop, RECOVERY_LIMIT_MS, startCrashingShop } from '../support/crashing-shop';

// A process is started for every step, on a machine that may be busy.
jest.setTimeout(180_000);

describe('kill -9 in the careful lane, a restart, and the ledger compared to the cent', () => {
  let shop: CrashingShop;

  beforeAll(async () => {
    shop = await startCrashingShop();
  });
  afterAll(() => shop?.close());
  beforeEach(() => shop.sandbox('DELETE', '/v1/faults'));

  describe.each([
    'closing.fencing',
    'closing.claimed',
    'closing.asked',
    'closing.closed_at_provider',
    'closing.answered',
    'closing.applied',
    'closing.settled',
  ])('the careful lane, at %s', (failpoint) => {
    it('closes what was not paid, and pays what was', async () => {
      // Only asking can tell.
      await shop.faults({ dropWebhooks: true });
      const unpaid = await shop.placeWithPayment();
      const paid = await shop.placeWithPayment();
      await shop.buyerPays(paid.providerId);
      await shop.crashAt(failpoint, () => shop.passDeadline([unpaid.orderId, paid.orderId]));
      await shop.untilOrder(unpaid.orderId, 'closed', RECOVERY_LIMIT_MS);
      await shop.untilOrder(paid.orderId, 'paid', RECOVERY_LIMIT_MS);
      await shop.untilSound();
    });
  });

  describe.each(['payment.opened', 'payment.created'])('a payment being opened, at %s', (step) => {
    it('leaves an order that closes, and nothing to pay at the provider', async () => {
      const order = await shop.place();
      await shop.crashAt(step, () => shop.startPayment(order.id));
      await shop.passDeadline([order.id]);
      await shop.untilOrder(order.id, 'closed', RECOVERY_LIMIT_MS);
      const open = (await shop.ledger()).filter(({ status }) => status === 'open');
      expect(open).toEqual([]);
      await shop.untilSound();
    });
  });
});
