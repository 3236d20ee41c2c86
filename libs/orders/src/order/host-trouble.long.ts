import { randomUUID } from 'node:crypto';
import { type AddressInfo, connect, createServer } from 'node:net';
import { once } from 'node:events';
import { atLeisure } from '../../../../test/support/at-leisure';
import { insertOrders, insertProduct } from '../../../../test/support/insert-orders';
import { type Posted } from '../../../../test/support/ledger-provider';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { timed } from '../../../timeout/src/testing/awake-time';
import { LastcallError } from './errors';
import { answerTo } from '../http/error-problem';
import { ReceiveWebhook } from '../payments/receive-webhook';
import { PlaceOrder } from '../placing/place-order';
import type { HookTx } from './hook-tx';
import { type HooksOrders, type OrderDraft, OrderHook, type OrderTransition } from './order-hook';

const [SKU, OTHER_SKU] = ['SKU', 'OTHER'];
/** A session that stands still is ended after three seconds, or a hook gives up; then it is answered, or stored. */
const ANSWERED_WITHIN_MS = 6_000;

type Trouble = 'none' | 'refuses' | 'refusal' | 'silent' | 'given up' | 'endless';
/** How long the host waits for its server where it gives up. */
const GIVEN_UP_AFTER_MS = 1_500;
let trouble: Trouble = 'none';

/** It takes what it is sent, and says nothing. */
const silent = createServer().listen(0, '127.0.0.1');

/** A server of the host's, which nothing of ours knows. */
const ask = async (): Promise<void> => {
  if (trouble === 'silent') await new Promise(() => undefined);
  if (trouble === 'none') return;
  if (trouble === 'given up') {
    const { port } = silent.address() as AddressInfo;
    await fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(GIVEN_UP_AFTER_MS) });
  }
  const call = new Promise((_, reject) => connect(1, '127.0.0.1').on('error', reject));
  await call.catch((cause: unknown) => {
    if (trouble === 'refuses') throw cause;
    // As of the host's own database, by what Postgres says of it.
    const away = Object.assign(new Error('the database system is starting up'), { code: '57P03' });
    throw new LastcallError('order_refused', 'No bonus now', {}, { cause: away });
  });
};

/** Asks its server about Ann and Anna, and about each order that is paid. */
@OrderHook()
class Bonus implements HooksOrders {
  async beforePlace(drafts: readonly OrderDraft[], tx: HookTx): Promise<[]> {
    if (!drafts.some(({ customerId }) => customerId.startsWith('ann'))) return [];
    while (trouble === 'endless') await tx.manager.query('SELECT 1');
    await ask();
    return [];
  }

  async onTransition({ to }: OrderTransition): Promise<void> {
    if (to === 'paid') await ask();
  }
}

let world: World;
beforeAll(async () => {
  if (!silent.listening) await once(silent, 'listening');
  world = await openWorld({ provides: [Bonus], isPatient: false });
  for (const sku of [SKU, OTHER_SKU]) await insertProduct(world, sku);
});
afterAll(async () => {
  await world?.close();
  silent.close();
});
beforeEach(() => (trouble = 'none'));

const place = (customerId: string, sku = SKU) =>
  world.get(PlaceOrder).place({
    ...{ customerId, idempotencyKey: randomUUID() },
    items: [{ sku, quantity: 1 }],
  });

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => answerTo(error).problem,
  );

async function payFor(count: number) {
  const orders = await insertOrders(world, { count, closesInMs: 600_000, payment: 'open' });
  const received = orders.map(({ paymentId, amount }) => {
    world.provider.open({ paymentId: paymentId as string, amount, currency: 'EUR' });
    const { body, headers } = world.provider.pay(paymentId as string, new Date()) as Posted;
    return world.get(ReceiveWebhook).receive('sandbox', body, headers);
  });
  await Promise.all(received);
  return orders.map(({ id }) => id);
}

const paidOf = async (ids: readonly string[]): Promise<number> =>
  (await world.rows(`SELECT FROM orders WHERE id = ANY ($1) AND status = 'paid'`, [ids])).length;

/** What is stored for later has its turn, which is up to a second away after a failure. */
async function applied(ids: readonly string[]): Promise<void> {
  await world.rows(`UPDATE deadlines SET due_at = now() WHERE kind = 'webhook'`);
  await world.timeouts.runSweep();
  expect(await paidOf(ids)).toBe(ids.length);
}

describe("a server of the host's that refuses a hook", () => {
  /** What Ann hears, beside whom thirty others are placed. */
  const besideOthers = (): Promise<unknown> =>
    // The parts of a group that fails are tried for a second, which is little for a busy machine.
    atLeisure(async () => {
      const ann = outcomeOf(place('ann'));
      const others = Array.from({ length: 30 }, (_, nth) => place(`${trouble}-${nth}`));
      expect(await Promise.all(others)).toHaveLength(30);
      return ann;
    });

  it('fails the order that asks it, and none beside that', async () => {
    trouble = 'refuses';
    expect(await besideOthers()).toMatchObject({ status: 500 });
  });

  it('may make it refuse that order, and none beside that', async () => {
    trouble = 'refusal';
    expect(await besideOthers()).toMatchObject({ status: 409, code: 'order_refused' });
  });

  it('keeps no webhook from being stored', async () => {
    trouble = 'refuses';
    const ids = await payFor(5);
    expect(await paidOf(ids)).toBe(0);
    trouble = 'none';
    await applied(ids);
  });
});

describe("a server of the host's that never answers a hook", () => {
  it('leaves no placing without an answer, and placing goes on', async () => {
    trouble = 'silent';
    for (let times = 0; times < 3; times++) {
      const { result, tookMs } = await timed(() => outcomeOf(place('ann')));
      expect(result).toMatchObject({ status: 503, code: 'busy' });
      expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS);
    }
    expect(await outcomeOf(place('bob'))).toBe('done');
  });

  it('keeps no webhook from being stored, and these are applied once it answers', async () => {
    trouble = 'silent';
    for (let times = 0; times < 3; times++) {
      const { result: ids, tookMs } = await timed(() => payFor(3));
      expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS);
      expect(await paidOf(ids)).toBe(0);
    }
    trouble = 'none';
    await applied(await payFor(1));
  });
});

describe("a server of the host's for which a hook waits only for so long", () => {
  it('leaves nobody who is placed beside it without an answer', async () => {
    trouble = 'given up';
    const all = ['ann', ...Array.from({ length: 30 }, (_, nth) => `zoe-${nth}`)].map((customer) =>
      place(customer),
    );
    const { result, tookMs } = await timed(() => Promise.all(all.map(outcomeOf)));
    expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS);
    const [ann, ...others] = result;
    expect(ann).toMatchObject({ status: expect.any(Number) });
    for (const other of others) {
      if (other !== 'done') expect(other).toMatchObject({ status: 503, code: 'busy' });
    }
    trouble = 'none';
    expect(await outcomeOf(place('bob'))).toBe('done');
  });

  it('keeps no webhook from being stored', async () => {
    trouble = 'given up';
    const { result: ids, tookMs } = await timed(() => payFor(20));
    expect(tookMs).toBeLessThan(ANSWERED_WITHIN_MS);
    expect(await paidOf(ids)).toBe(0);
    trouble = 'none';
    await applied(ids);
  });
});

describe('a hook that makes statements without end', () => {
  it('is given up, however often it is asked, and placing goes on', async () => {
    trouble = 'endless';
    // In as many transactions as place at the same time: nobody else could.
    const first = outcomeOf(place('ann'));
    await until('it is at work', async () => (await endless()).length === 1);
    const all = [first, outcomeOf(place('anna', OTHER_SKU))];
    await until('both are at work', async () => (await endless()).length === 2);
    expect(await Promise.all(all)).toEqual([
      expect.objectContaining({ status: 503, code: 'busy' }),
      expect.objectContaining({ status: 503, code: 'busy' }),
    ]);
    expect(await endless()).toEqual([]);
    expect(await outcomeOf(place('bob'))).toBe('done');
  });
});

const endless = (): Promise<unknown[]> =>
  world.rows(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT 1' AND xact_start IS NOT NULL`,
  );
