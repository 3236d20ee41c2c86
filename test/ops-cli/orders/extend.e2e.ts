import type { Config, Extended } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS } from '../../support/cli-world';
import { endHost, lastcallJson } from '../../support/lastcall';
import { type StartedShop, startShop } from '../../support/shop';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

/** The command knows where the database is, and no secret of the provider's: a worker has it. */
describe('lastcall orders extend without the secrets of the provider', () => {
  let shop: StartedShop;
  let config: Config;

  beforeAll(async () => {
    shop = await startShop();
    const { DATABASE_URL, REDIS_URL } = shop.app.config;
    config = { DATABASE_URL, REDIS_URL } as Config;
  });
  afterAll(async () => {
    await endHost();
    await shop?.close();
  });

  const extend = (id: string, key: string) =>
    lastcallJson<Extended>(config, [
      ...['orders', 'extend', id, '--by', '15m', '--reason', 'the bank was down'],
      ...['--actor', 'eve', '--idempotency-key', key],
    ]);
  const endsOf = (orderId: string) =>
    shop.app.rows<{ paymentEnds: Date; orderCloses: Date; extensions: number }>(
      `SELECT p.expires_at AS "paymentEnds", o.closes_at AS "orderCloses",
              (SELECT count(*)::int FROM order_events e
                WHERE e.order_id = o.id AND e.type = 'order.extended' AND e.actor LIKE 'eve %') AS extensions
         FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.id = $1`,
      [orderId],
    );

  it('moves the end of the open payment with that of the order, and once by its key', async () => {
    const { orderId, providerId } = await shop.placeWithPayment();
    const { code, result } = await extend(orderId, 'once');
    expect({ code, replayed: result.replayed }).toEqual({ code: 0, replayed: false });
    const [ends] = await endsOf(orderId);
    expect(ends?.orderCloses.toISOString()).toBe(result.order.closesAt);
    expect(ends?.paymentEnds).toEqual(ends?.orderCloses);
    const there = await shop.sandbox<{ expiresAt: string }>('GET', `/v1/payments/${providerId}`);
    expect(there.expiresAt).toBe(result.order.closesAt);
    const again = await extend(orderId, 'once');
    expect(again).toMatchObject({ code: 0, result: { replayed: true } });
    expect((await endsOf(orderId))[0]?.extensions).toBe(1);
  });

  it('needs no worker where no payment is open', async () => {
    await shop.app.rows(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'an errand was left'; END $$`);
    await shop.app.rows(
      'CREATE TRIGGER no_errands BEFORE INSERT ON errands EXECUTE FUNCTION refuse()',
    );
    const order = await shop.place();
    const { code, result } = await extend(order.id, 'alone');
    expect({ code, version: result.order.version }).toEqual({
      code: 0,
      version: order.version + 1,
    });
  });

  it('needs one while a payment is being opened there', async () => {
    const { orderId } = await shop.placeWithPayment();
    await shop.app.rows('UPDATE payments SET provider_payment_id = NULL WHERE order_id = $1', [
      orderId,
    ]);
    expect((await extend(orderId, 'opening')).code).not.toBe(0);
    expect((await endsOf(orderId))[0]?.extensions).toBe(0);
  });
});
