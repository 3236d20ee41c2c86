import { createDataSource, loadConfig } from '@app/orders';
import { countOverdue } from '@app/timeout';
import { closeAtTheLimit } from './limit';
import { fillPendingOrders, fillProducts, settle, SKU_AT } from './orders-table';
import { flatGoal, type Question } from './question';
import { median } from './statistics';
import { createWorld, type World } from './world';

const FINISHED = [0, 1_000_000, 10_000_000];
const QUICK_FINISHED = [0, 50_000];
const DUE = 20_000;
const CHUNK = 500_000;
const LOOKS = 200;
const CUSTOMERS = 100_000;
/** Each closes for a fifth of a second: two that are disturbed would be the median of three. */
const TURNS_A_ROUND = 3;

export const growth: Question = {
  name: 'growth',
  asks: 'Do claiming and sweeping slow down as finished orders pile up?',
  async answer({ servers, rounds, quick, say }) {
    const turns = quick ? 1 : TURNS_A_ROUND * rounds;
    const world = await createWorld(servers);
    try {
      await fillProducts(world);
      const rows = [];
      let there = 0;
      for (const finished of quick ? QUICK_FINISHED : FINISHED) {
        for (; there < finished; there += Math.min(CHUNK, finished - there)) {
          await fillFinished(world, Math.min(CHUNK, finished - there));
        }
        const sweeps: number[] = [];
        const claims: number[] = [];
        for (let i = 0; i < turns; i++) {
          await fillPendingOrders(world, { count: DUE, dueInS: -1 });
          await settle(world);
          sweeps.push(await timeLook(world));
          claims.push((1_000 * (await closeAtTheLimit(world, 1_000))) / DUE);
        }
        const [look, close] = [median(sweeps), median(claims)].map(Math.round);
        say(`${finished} finished: look ${look} us, close ${close} us an order`);
        rows.push({ finished, sweep: median(sweeps), claim: median(claims) });
      }
      const [first] = rows;
      const worst = Math.max(
        ...rows.map((row) =>
          Math.max(row.sweep / (first?.sweep ?? 1), row.claim / (first?.claim ?? 1)),
        ),
      );
      return {
        tables: [
          {
            title: `${DUE.toLocaleString('en-US')} orders due, beside so many finished ones`,
            columns: ['finished orders', 'sweep looks, us', 'claim and close, us an order'],
            rows: rows.map((row) => [row.finished, row.sweep, row.claim]),
            note: `Medians of ${turns}. The sweep looks for what is overdue; claiming and closing is the batch SQL alone, so that nothing hides its growth.`,
          },
        ],
        charts: [
          {
            name: 'growth',
            title: 'Closing beside finished orders',
            kind: 'lines',
            xTitle: 'finished orders in the table',
            yTitle: 'us an order',
            points: rows.map((row) => ({
              series: 'claim and close',
              x: row.finished,
              y: row.claim,
            })),
          },
        ],
        goals: [flatGoal(worst)],
      };
    } finally {
      await world.close();
    }
  },
};

async function fillFinished({ pool }: World, count: number): Promise<void> {
  await pool.query(
    `WITH made AS (
       INSERT INTO orders (id, customer_id, status, close_reason, amount, currency, version,
                           late_payment, created_at, pay_by, closes_at, closed_at)
       SELECT uuidv7(), 'customer-' || i % ${CUSTOMERS}, 'closed', 'payment_timeout', 3000, 'EUR', 2,
              'refund', now(), now(), now(), now() FROM generate_series(1, $1::int) AS i
       RETURNING id
     )
     INSERT INTO order_items (order_id, sku, quantity, unit_price)
     SELECT id, ${SKU_AT('n')}, 1, 1000 FROM made, (VALUES (1), (2)) AS line (n)`,
    [count],
  );
}

async function timeLook(world: World): Promise<number> {
  const dataSource = createDataSource(loadConfig(world.env), 'bench');
  await dataSource.initialize();
  try {
    const kinds = ['payment', 'closing', 'shipment', 'receipt'];
    const times = [];
    for (let i = 0; i < LOOKS; i++) {
      const startedMs = performance.now();
      await countOverdue(dataSource, kinds);
      times.push(1_000 * (performance.now() - startedMs));
    }
    return median(times);
  } finally {
    await dataSource.destroy();
  }
}
