import { type CrashingShop, RECOVERY_LIMIT_MS, startCrashingShop } from '../support/crashing-shop';
import { until } from '../support/until';

// A process is started for every step, on a machine that may be busy.
jest.setTimeout(180_000);

describe('kill -9 in a late payment or a refund, a restart, and the ledger compared to the cent', () => {
  let shop: CrashingShop;

  beforeAll(async () => {
    shop = await startCrashingShop();
  });
  afterAll(() => shop?.close());
  beforeEach(() => shop.sandbox('DELETE', '/v1/faults'));

  describe.each(['capture.recorded', 'webhook.applied', 'webhook.stored'])(
    'a late payment, at %s',
    (failpoint) => {
      it('is refunded once', async () => {
        const { orderId, providerId } = await shop.placeAndCancel();
        await shop.crashAt(failpoint, () => shop.buyerPays(providerId, { afterClose: true }));
        await shop.untilRefunded(orderId, RECOVERY_LIMIT_MS);
        expect(await shop.refundsOf(orderId)).toHaveLength(1);
        expect(await atProvider(shop, providerId)).toHaveLength(1);
        await shop.untilSound();
      });
    },
  );

  describe.each(['refund.claimed', 'refund.answered', 'refund.applied', 'refund.settled'])(
    'a refund, at %s',
    (failpoint) => {
      it('is made once', async () => {
        const { orderId, providerId } = await shop.placeAndCancel();
        await shop.crashAt(failpoint, () => shop.buyerPays(providerId, { afterClose: true }));
        await shop.untilRefunded(orderId, RECOVERY_LIMIT_MS);
        expect(await atProvider(shop, providerId)).toMatchObject([{ status: 'succeeded' }]);
        await shop.untilSound();
      });
    },
  );
});

async function atProvider(shop: CrashingShop, providerId: string) {
  // What was sent may not be settled yet.
  return until('refunds are settled', async () => {
    const refunds = (await shop.ledger()).find(({ id }) => id === providerId)?.refunds ?? [];
    return refunds.every(({ status }) => status !== 'pending') ? refunds : undefined;
  });
}
