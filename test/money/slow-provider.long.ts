import { PaymentProviders, runInvariants } from '@app/orders';
import { TimeoutService } from '@app/timeout';
import { Gate } from '../../libs/timeout/src/testing/gate';
import { startTestApp, type TestApp } from '../support/app';
import { insertOrders } from '../support/insert-orders';
import { LedgerProvider } from '../support/ledger-provider';
import { statusesOf } from '../support/order-statuses';
import { BY_HAND, Shop } from '../support/shop';
import { until } from '../support/until';

const CAREFUL = 15;
const ORDERS = 300;

describe('a provider that thinks for as long as a test likes', () => {
  const provider = new LedgerProvider();
  const thinking = new Gate();
  let app: TestApp;
  let shop: Shop;

  beforeAll(async () => {
    app = await startTestApp({
      settings: BY_HAND,
      override: (module) =>
        module.overrideProvider(PaymentProviders).useValue(new PaymentProviders([provider])),
    });
    shop = new Shop(app.baseUrl, '', app);
  });
  afterAll(async () => {
    thinking.open();
    await app?.close();
  });

  it('delays nobody else: orders without a payment close while it thinks', async () => {
    const careful = await Promise.all(
      Array.from({ length: CAREFUL }, () => shop.placeWithPayment().then(({ orderId }) => orderId)),
    );
    provider.around = (_, when) => (when === 'before' ? thinking.pass() : Promise.resolve());
    await shop.passDeadline(careful);
    const areAll = async (ids: readonly string[], status: string): Promise<boolean> =>
      (await statusesOf(app, ids)).every((one) => one === status);
    await until('all of them are behind the fence', () => areAll(careful, 'closing'));
    await thinking.reached();

    // Rings and sweeps come to their end, though no answer does.
    const fast = (await insertOrders(app, { count: ORDERS, closesInMs: 100 })).map(({ id }) => id);
    const timeouts = app.app.get(TimeoutService);
    await until('the fast lane is through', async () => {
      await timeouts.drainAll('timer');
      return areAll(fast, 'closed');
    });
    expect(await areAll(careful, 'closing')).toBe(true);

    thinking.open();
    await until('those are closed, too', () => areAll(careful, 'closed'));
    await until('all that was promised holds', async () => {
      const results = await runInvariants(app, { limitMs: 10_000, newest: 'all' });
      return results.every(({ violations }) => violations === 0);
    });
  });
});
