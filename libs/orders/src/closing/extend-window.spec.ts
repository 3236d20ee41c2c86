import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { type ExtendCommand, ExtendWindow, MAX_EXTENSION_MS } from './extend-window';

describe('ExtendWindow', () => {
  let world: World;
  beforeAll(
    async () =>
      (world = await openWorld({
        settings: { CUSTOMER_EXTENSION: '2m', CUSTOMER_EXTENSIONS: '2' },
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

  it('lets an operator add a day', async () => {
    const { id, closesAt } = await place();
    const extended = await world
      .get(ExtendWindow)
      .extend(id, { ...operator, byMs: MAX_EXTENSION_MS });
    const addedMs = Date.parse(extended.closesAt as string) - closesAt.getTime();
    expect(addedMs).toBe(MAX_EXTENSION_MS);
  });
});
