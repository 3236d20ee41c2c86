import { TEST_SKU } from '../../../../test/support/insert-orders';
import { moneyOf } from '../../../../test/support/money';
import { closedUnheard, paidOrder, receive } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import { answerTo } from '../http/error-problem';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';
import type { StockLine, StockPort } from './stock-port';

const OLGA = { actor: 'olga', reason: 'case 9' };
/** What the host writes down: it commits with the order, or not at all. */
const BOOK = `INSERT INTO public.shelf (order_id, what, sku, quantity)
  SELECT id, $1, sku, quantity FROM unnest($2::uuid[], $3::text[], $4::int[]) AS l (id, sku, quantity)`;
const columnsOf = (lines: readonly StockLine[]) => [
  lines.map(({ orderId }) => orderId),
  lines.map(({ sku }) => sku),
  lines.map(({ quantity }) => quantity),
];

const old: StockPort = {
  reserve: async () => [],
  async apply(effect, orderIds, tx, takenBack) {
    const lines = orderIds.map((orderId) => ({ orderId, sku: '', quantity: 0 }));
    await tx.query(BOOK, [effect, ...columnsOf(lines)]);
    await tx.query(BOOK, [`${effect} but`, ...columnsOf(takenBack)]);
  },
};
let breaksDown = false;
let isEmpty = false;
const shelf: StockPort = {
  ...old,
  async reserve(lines, tx) {
    await tx.query(BOOK, ['asked for', ...columnsOf(lines)]);
    return isEmpty ? lines.map(({ orderId, sku }) => ({ orderId, sku, available: 0 })) : [];
  },
  async takeBack(lines, tx) {
    await tx.query(BOOK, ['taken back', ...columnsOf(lines)]);
    if (breaksDown) throw new Error('the shelf fell over');
  },
};

let world: World;
let beside: World;
beforeAll(async () => {
  world = await openWorld({ stock: shelf });
  beside = await openWorld({ beside: world, stock: old });
  const role = new URL(world.config.DATABASE_URL).username;
  await world.owner.rows(
    `CREATE TABLE public.shelf (
       nth int GENERATED ALWAYS AS IDENTITY, order_id uuid, what text, sku text, quantity int)`,
  );
  await world.owner.rows(`GRANT ALL ON public.shelf TO "${role}"`);
});
afterAll(async () => {
  await beside?.close();
  await world?.close();
});
afterEach(() => void (breaksDown = isEmpty = false));

const heard = async (orderId: string): Promise<string[]> =>
  (
    await world.rows<{ what: string; sku: string; quantity: number }>(
      `SELECT what, sku, quantity FROM public.shelf WHERE order_id = $1 ORDER BY nth`,
      [orderId],
    )
  ).map(({ what, sku, quantity }) => (sku ? `${what} ${quantity} ${sku}` : what));
const sendBack = (
  at: World,
  id: string,
  quantity: number,
  more: { amount?: number; dryRun?: boolean; idempotencyKey?: string } = {},
) => {
  const returned = [{ sku: TEST_SKU, quantity }];
  return at.get(CreateRefund).create(id, { ...OLGA, amount: 10, restock: returned, ...more });
};

describe("a host's own stock", () => {
  it('hears which pieces of an order came back, once for each refund', async () => {
    const { id } = await paidOrder(world);
    await sendBack(world, id, 1, { dryRun: true });
    for (let times = 0; times < 2; times++)
      await sendBack(world, id, 1, { idempotencyKey: 'case-9' });
    expect(await heard(id)).toEqual(['sell', `taken back 1 ${TEST_SKU}`]);
  });

  it('is told what of it is back already when the order is canceled after all', async () => {
    const [inParts, atOnce] = [await paidOrder(world), await paidOrder(world)];
    await sendBack(world, inParts.id, 1);
    await world.get(CancelOrderByOperator).cancel(inParts.id, OLGA);
    await sendBack(world, atOnce.id, 2, { amount: 1_000 });
    const back = (quantity: number) => [
      ...['sell', `taken back ${quantity} ${TEST_SKU}`],
      ...['restock', `restock but ${quantity} ${TEST_SKU}`],
    ];
    expect([await heard(inParts.id), await heard(atOnce.id)]).toEqual([back(1), back(2)]);
  });

  it('undoes the refund by what it throws', async () => {
    const { id } = await paidOrder(world);
    breaksDown = true;
    await expect(sendBack(world, id, 1)).rejects.toThrow('the shelf fell over');
    expect(await heard(id)).toEqual(['sell']);
    expect(await world.rows('SELECT FROM order_returns WHERE order_id = $1', [id])).toEqual([]);
    expect(
      await world.rows(
        "SELECT FROM refunds WHERE reason = 'operator' AND amount = 10 AND payment_id IN (SELECT id FROM payments WHERE order_id = $1)",
        [id],
      ),
    ).toEqual([]);
  });

  it('that cannot hear of pieces is sent none: the refund is refused, and made without them', async () => {
    const { id } = await paidOrder(beside);
    const refused = await sendBack(beside, id, 1).catch(
      (error: unknown) => answerTo(error).problem,
    );
    expect(refused).toMatchObject({ status: 409, code: 'restock_not_supported' });
    expect(await world.rows('SELECT FROM order_returns WHERE order_id = $1', [id])).toEqual([]);
    const made = await beside.get(CreateRefund).create(id, { ...OLGA, amount: 10 });
    expect(made.refundIds).toHaveLength(1);
  });

  it.each([
    ['has an order that late money revives', false, 'paid', ['sell'], []],
    ['that is short leaves it closed, and the money goes back', true, 'closed', [], ['1000']],
  ] as const)('%s', async (_, isShort, status, sold, sentBack) => {
    const { order, paid } = await closedUnheard(world, { latePayment: 'revive' });
    isEmpty = isShort;
    await receive(world, paid);
    const { read, refundsOf } = moneyOf(() => world);
    expect((await read(order)).status).toBe(status);
    expect(await heard(order.id)).toEqual([`asked for 2 ${TEST_SKU}`, ...sold]);
    expect((await refundsOf(order)).map(({ amount }) => amount)).toEqual(sentBack);
  });
});
