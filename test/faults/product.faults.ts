import { until } from '../support/until';
import { violations } from './books';
import { assert, type Fault } from './fault';
import { slowness } from '../support/slowness';
import { pause } from './load';
import { paidWithin } from './paying-probe';
import { at, atOf, place, probe } from './placing-probe';

const CALM_MS = 10_000;
/** "A clear 503 within 3 s." */
const REFUSED_WITHIN_MS = 3_000;
/** Below that, doubling is noise. */
const NOISE_MS = 50;
const PAYING_SHARE = 0.9;
const HELD = 'TEA-B';

export const PRODUCT_FAULTS: readonly Fault[] = [
  {
    area: 'Postgres',
    name: "somebody holds one product's row for a minute, as a merchant's update does",
    quick: true,
    run: async (step) => {
      const calmSince = await step.now();
      const before = await probe(step, pause(CALM_MS));
      const paidBefore = await paidWithin(step, HELD, calmSince, await step.now());
      const merchant = await step.rig.pool.connect();
      try {
        await merchant.query('BEGIN');
        await merchant.query('UPDATE products SET name = name WHERE sku = $1', [HELD]);
        const since = await step.now();
        const meanwhile = await probe(step, step.lasting(60_000, 12_000));
        const over = await step.now();
        const wanting = await Promise.all(Array.from({ length: 4 }, () => place(step, HELD)));
        const closed = Object.values(await step.closedBy(since)).reduce((a, b) => a + b, 0);
        assert(closed > 0, 'nothing was closed meanwhile');
        let broken: string[] = [];
        await until('every invariant is 0 with the row held', async () => {
          // Events wait for every open transaction that writes, to be relayed in order.
          broken = (await violations(step.rig)).filter((one) => !one.startsWith('12 '));
          return broken.length === 0;
        }).catch((error: Error) => {
          throw new Error(`${error.message}: ${broken.join(', ')}`);
        });
        assert(
          wanting.every(({ status, code }) => status === 503 && code === 'busy'),
          `who wanted it heard ${JSON.stringify(wanting)}`,
        );
        const slowest = Math.max(...wanting.map(({ tookMs }) => tookMs));
        assert(slowest <= REFUSED_WITHIN_MS * slowness(), `they heard it after ${slowest} ms`);
        const refused = meanwhile.filter(({ status }) => status !== 201);
        assert(refused.length === 0, `${refused.length} others were refused`);
        const paidMeanwhile = await paidWithin(step, HELD, since, over);
        await step.heal(() => merchant.query('ROLLBACK'));
        await until('what was released is back', async () => {
          const rows = await step.rig.rows(
            `SELECT 1 FROM unfolded_stock_movements WHERE at < now() - interval '1 second'`,
          );
          return rows.length === 0;
        });
        // On both sides of it: what this machine does otherwise comes and goes.
        const calmAgain = await step.now();
        const calm = [...before, ...(await probe(step, pause(CALM_MS)))];
        const paidAfter = await paidWithin(step, HELD, calmAgain, await step.now());
        // Of a short row the slowest hundredth are five orders, which one pause of the disk delays.
        const share = step.quick ? 0.5 : 0.99;
        const ratio = at(share, meanwhile) / Math.max(NOISE_MS, at(share, calm));
        const said = `p${share * 100} of placing others ${at(share, before)} ms before, ${at(share, meanwhile)} ms meanwhile, ${at(share, calm)} ms before and after: a ratio of ${ratio.toFixed(2)}`;
        assert(ratio <= 2, said);
        const paying = payingSlowed(
          step.quick ? 0.5 : PAYING_SHARE,
          [...paidBefore, ...paidAfter],
          paidMeanwhile,
        );
        return `${closed} orders closed meanwhile; who wanted it heard busy after ${slowest} ms at most; ${said}; ${paying}`;
      } finally {
        await merchant.query('ROLLBACK');
        merchant.release();
      }
    },
  },
];

/** Of the load: few a second, so that the slowest hundredth of them is one or two. */
function payingSlowed(
  share: number,
  calm: readonly number[],
  meanwhile: readonly number[],
): string {
  const [calmMs, meanwhileMs] = [atOf(share, calm), atOf(share, meanwhile)];
  const said = `${meanwhile.length} others paid, p${share * 100} ${Math.round(meanwhileMs)} ms, ${Math.round(calmMs)} ms before and after`;
  assert(meanwhile.length > 0 && calm.length > 0, said);
  assert(meanwhileMs <= 2 * Math.max(NOISE_MS, calmMs), said);
  return said;
}
