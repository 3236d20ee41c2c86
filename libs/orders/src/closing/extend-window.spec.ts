import { type InsertedOrder, insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import type { MoreTime } from '../providers/payment-provider';
import { StartPayment } from '../payments/start-payment';
import { type ExtendCommand, ExtendWindow, MAX_EXTENSION_MS } from './extend-window';

describe('ExtendWindow', () => {
  let world: World;
  beforeAll(
    async () =>
      (world = await openWorld({
        settings: { CUSTOMER_EXTENSION: '2m', CUSTOMER_EXTENSIONS: '2' },
        waitsForLocks: true,
      })),
  );
  afterAll(() => world?.close());

  const place = async (): Promise<{ id: string; closesAt: Date }> => {
    const [order] = await insertOrders(world, { count: 1, closesInMs: 60_000 });
    return order as { id: string; closesAt: Date };
  };
  const state = (id: string) =>
    world.rows(
      `SELECT o.version, o.closes_at, (SELECT count(*) FROM deadlines WHERE subject_id = o.id) AS n
         FROM orders o WHERE id = $1`,
      [id],
    );
  /** What the provider answers when it is to extend a payment until then. */
  const extendsBy = (until: (expiresAt: Date) => Date) =>
    Object.assign(world.provider, {
      extendPayment: async (_payment: unknown, moreTime: MoreTime) => ({
        state: 'EXTENDED',
        expiresAt: until(moreTime.expiresAt),
      }),
    });
  afterEach(() => Object.assign(world.provider, { extendPayment: undefined }));
  const operator = { by: 'operator', actor: 'olga', reason: 'the bank is slow' } as const;
  const customer = { by: 'customer', actor: 'ann' } as const;

  it.each<[number, Omit<ExtendCommand, 'byMs'>]>([
    [-60_000, operator],
    [0, operator],
    [0.5, operator],
    [NaN, operator],
    [MAX_EXTENSION_MS + 1, operator],
    [-60_000, customer],
  ])('refuses %d ms and changes nothing', async (byMs, command) => {
    const { id } = await place();
    const before = await state(id);
    const extending = world.get(ExtendWindow).extend(id, { ...command, byMs });
    await expect(extending).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await state(id)).toEqual(before);
  });

  it('gives a customer more time as often as the shop says, the operator aside', async () => {
    const { id } = await place();
    const extend = (command: Omit<ExtendCommand, 'byMs'>) =>
      world.get(ExtendWindow).extend(id, { ...command, byMs: 60_000 });
    await extend(operator);
    await extend(customer);
    await extend(operator);
    await extend(customer);
    await expect(extend(customer)).rejects.toMatchObject({
      code: 'order_not_extendable',
      message: 'This order has been extended 2 times already',
    });
    await world.rows('UPDATE orders SET extensions = 0, extended = true WHERE id = $1', [id]);
    // A process of before has given it once.
    await extend(customer);
    await expect(extend(customer)).rejects.toMatchObject({ code: 'order_not_extendable' });
  });

  it('extends once for each key, also twenty at once, whatever answers were lost', async () => {
    const { id, closesAt } = await place();
    const extend = (command: Partial<ExtendCommand>) =>
      world.get(ExtendWindow).extendOnce(id, { ...customer, byMs: 60_000, ...command });
    const again = () => extend({ idempotencyKey: 'once' });
    const answers = await Promise.all(Array.from({ length: 20 }, again));
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(answers.map(({ order }) => order.closesAt))).toEqual(
      new Set([new Date(closesAt.getTime() + 60_000).toISOString()]),
    );
    expect(await extend({ idempotencyKey: 'twice' })).toMatchObject({ replayed: false });
    // All that the shop gives is given, and this was a part of it.
    expect(await again()).toMatchObject({ replayed: true, order: { version: 3 } });
    await expect(extend({ idempotencyKey: 'thrice' })).rejects.toMatchObject({
      code: 'order_not_extendable',
    });
    const reused = { code: 'idempotency_key_reused' };
    await expect(extend({ idempotencyKey: 'once', byMs: 30_000 })).rejects.toMatchObject(reused);
    await expect(extend({ ...operator, idempotencyKey: 'once' })).rejects.toMatchObject(reused);
    await expect(extend({ actor: 'eve', idempotencyKey: 'once' })).rejects.toMatchObject({
      code: 'order_not_found',
    });
  });

  it('remembers no key of a rehearsal, nor of what was refused', async () => {
    const { id } = await place();
    const keyed = { byMs: 60_000, idempotencyKey: 'later' };
    const extend = (command: ExtendCommand) => world.get(ExtendWindow).extendOnce(id, command);
    await extend({ ...operator, ...keyed, dryRun: true });
    await expect(extend({ ...customer, ...keyed, byMs: 3_600_000 })).rejects.toMatchObject({
      code: 'order_not_extendable',
    });
    expect(await extend({ ...operator, ...keyed })).toMatchObject({ replayed: false });
    await world.rows(
      `UPDATE orders SET status = 'closed', closed_at = now(), close_reason = 'customer_canceled'
        WHERE id = $1`,
      [id],
    );
    expect(await extend({ ...operator, ...keyed, reason: 'the bank is still slow' })).toMatchObject(
      {
        ...{ replayed: true, order: { status: 'closed' } },
      },
    );
  });

  it('reaches a payment that a repeated key opens only after it', async () => {
    const [order] = await insertOrders(world, { count: 1, closesInMs: 3_600_000 });
    const id = order?.id as string;
    const start = () =>
      world.get(StartPayment).start({ orderId: id, customerId: 'ann', idempotencyKey: 'again' });
    world.provider.unreachable = 'before';
    await expect(start()).rejects.toMatchObject({ code: 'provider_error' });
    world.provider.unreachable = undefined;
    const { closesAt } = await world.get(ExtendWindow).extend(id, { ...operator, byMs: 60_000 });
    const asked: Date[] = [];
    extendsBy((expiresAt) => {
      asked.push(expiresAt);
      return expiresAt;
    });
    expect(await start()).toMatchObject({ replayed: true });
    expect(asked).toEqual([new Date(closesAt as string)]);
  });

  it('calls an operator where the provider gives its payment less than the order has', async () => {
    const wanted = { count: 1, closesInMs: 3_600_000, payment: 'open' } as const;
    const [{ id, paymentId }] = (await insertOrders(world, wanted)) as [InsertedOrder];
    extendsBy((expiresAt) => new Date(expiresAt.getTime() - 30_000));
    const { closesAt } = await world.get(ExtendWindow).extend(id, { ...operator, byMs: 60_000 });
    const endsAt = new Date(Date.parse(closesAt as string) - 30_000);
    expect(
      await world.rows('SELECT expires_at AS "endsAt" FROM payments WHERE id = $1', [paymentId]),
    ).toEqual([{ endsAt }]);
    const why = `sandbox lets it last until ${endsAt.toISOString()}`;
    expect(world.told.filter(({ name }) => name === 'alert').map(({ args }) => args)).toEqual([
      ['payment_not_extended', { orderId: id, provider: 'sandbox', paymentId, why }],
    ]);
  });

  it('lets an operator add a day', async () => {
    const { id, closesAt } = await place();
    const extended = await world
      .get(ExtendWindow)
      .extend(id, { ...operator, byMs: MAX_EXTENSION_MS });
    const addedMs = Date.parse(extended.closesAt as string) - closesAt.getTime();
    expect(addedMs).toBe(MAX_EXTENSION_MS);
  });
});
