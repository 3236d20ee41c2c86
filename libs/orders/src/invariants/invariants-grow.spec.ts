import type { Queryable } from '@app/orders';
import { insertOrders } from '../../../../test/support/insert-orders';
import { type Payable, receive } from '../../../../test/support/paid-order';
import type { Posted } from '../../../../test/support/ledger-provider';
import { openWorld, type World } from '../../../../test/support/world';
import { runInvariants } from './run-invariants';

const FEW = 200;
/** Three times as many orders take three times the reading: nine times, where each of them reads all. */
const TIMES = 3;
const MOST = 2 * TIMES;
/** What little there is of the rest. */
const ALWAYS = 300;

interface Explained {
  readonly 'QUERY PLAN': readonly [{ readonly Plan: Readonly<Record<string, unknown>> }];
}

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** Paid by their webhooks, as those of a shop are. */
async function pay(count: number): Promise<void> {
  const orders = await insertOrders(world, { count, closesInMs: 600_000, payment: 'open' });
  const notices = orders.map((order) => {
    const { paymentId, amount } = order as Payable;
    world.provider.open({ paymentId, amount, currency: 'EUR' });
    return world.provider.pay(paymentId, new Date()) as Posted;
  });
  await Promise.all(notices.map((notice) => receive(world, notice)));
  await world.rows('ANALYZE');
}

/** Blocks that each of them reads, with what is in the cache. */
async function blocksRead(): Promise<Map<number, number>> {
  const read: number[] = [];
  const explained: Queryable = {
    rows: async <T>(sql: string, params: readonly unknown[] = []) => {
      if (params.length > 0) return world.rows<T>(sql, params);
      const [row] = await world.rows<Explained>(
        `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${sql}`,
      );
      const { Plan } = (row as Explained)['QUERY PLAN'][0];
      read.push(Number(Plan['Shared Hit Blocks']) + Number(Plan['Shared Read Blocks']));
      return [{ violations: '0' }] as T[];
    },
  };
  const results = await runInvariants(explained, { limitMs: 15_000 });
  return new Map(results.map(({ id }, nth) => [id, read[nth] as number]));
}

it('none of them reads everything for each order that it looks at', async () => {
  await pay(FEW);
  const few = await blocksRead();
  await pay((TIMES - 1) * FEW);
  const many = await blocksRead();
  const grown = [...many].filter(([id, blocks]) => blocks > MOST * (few.get(id) ?? 0) + ALWAYS);
  expect(grown).toEqual([]);
});
