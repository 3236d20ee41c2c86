import autocannon from 'autocannon';
import { orderRequests } from './load';
import { fillProducts } from './orders-table';
import { startLastcall } from './processes';
import type { BenchOptions, Cell, Question } from './question';
import { medianOf, percentile } from './statistics';
import { createWorld } from './world';

const PROCESSES = [1, 2, 4];
/** Of all processes together: far below what one of them can do. */
const ORDERS_A_SECOND = 400;
const CONNECTIONS = 120;
const SECONDS = 10;
const QUICK_SECONDS = 1;
/** What a commit waits for its disk, as on many a cloud's. */
const COMMIT_MS = 40;
/** Code, connections and plans are warm by then. */
const WARM_UP_S = 2;

export const severalApis: Question = {
  name: 'several-apis',
  asks: 'Do several API processes refuse anybody for what the others have, where commits are slow?',
  async answer(options) {
    const turns = options.quick ? 1 : options.rounds;
    const all: Placed[] = [];
    for (let turn = 0; turn < turns; turn++) {
      for (const processes of PROCESSES) all.push(await placeBeside(options, processes));
    }
    const of = (processes: number) => all.filter((one) => one.processes === processes);
    const refused = (processes: number): number =>
      of(processes).reduce((sum, one) => sum + one.refused, 0);
    const total = PROCESSES.reduce((sum, processes) => sum + refused(processes), 0);
    return {
      tables: [
        {
          title: `${ORDERS_A_SECOND} orders a second of 1 to 12 lines, over 200 products`,
          columns: ['API processes', 'orders/s', 'p50, ms', 'p99, ms', 'refused'],
          rows: PROCESSES.map((processes): Cell[] => [
            processes,
            Math.round(medianOf(of(processes), (one) => one.perSecond)),
            Math.round(medianOf(of(processes), (one) => one.p50Ms)),
            Math.round(medianOf(of(processes), (one) => one.p99Ms)),
            refused(processes),
          ]),
          note:
            `Each commit waits ${COMMIT_MS} ms more (commit_delay), one after the other, with the products of its group locked. ` +
            `${SECONDS} s after ${WARM_UP_S} s of the same; medians of ${turns}, refused in all of them.`,
        },
      ],
      goals: [
        { text: 'no order is refused', met: total === 0, measured: `${total} requests refused` },
      ],
    };
  },
};

interface Placed {
  readonly processes: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly refused: number;
}

async function placeBeside(
  { servers, quick, say }: BenchOptions,
  processes: number,
): Promise<Placed> {
  const seconds = quick ? QUICK_SECONDS : SECONDS;
  const world = await createWorld(servers);
  const apis: Awaited<ReturnType<typeof startLastcall>>[] = [];
  const delayCommits = async (ms: number): Promise<void> => {
    await world.pool.query(`ALTER SYSTEM SET commit_delay = ${1_000 * ms}`);
    await world.pool.query(`ALTER SYSTEM SET commit_siblings = ${ms > 0 ? 0 : 5}`);
    await world.pool.query('SELECT pg_reload_conf()');
  };
  try {
    await fillProducts(world);
    while (apis.length < processes) {
      apis.push(await startLastcall(world, { settings: { ROLES: 'api' } }));
    }
    await delayCommits(COMMIT_MS);
    const setupRequest = await orderRequests('baskets');
    const took: number[] = [];
    let refused = 0;
    const fromMs = performance.now() + 1_000 * WARM_UP_S;
    await Promise.all(
      apis.map((api) =>
        autocannon({
          url: api.url,
          connections: CONNECTIONS / processes,
          overallRate: ORDERS_A_SECOND / processes,
          duration: WARM_UP_S + seconds,
          timeout: 30,
          requests: [{ method: 'POST', path: '/', setupRequest }],
        }).on('response', (_, status, __, tookMs) => {
          if (performance.now() < fromMs) return;
          if (status === 201) took.push(tookMs);
          else refused += 1;
        }),
      ),
    );
    const [p50Ms, p99Ms] = [percentile(took, 50), percentile(took, 99)];
    say(`${processes} processes: p99 ${p99Ms.toFixed(0)} ms, ${refused} refused`);
    return { processes, perSecond: took.length / seconds, p50Ms, p99Ms, refused };
  } finally {
    await delayCommits(0);
    for (const api of apis) await api.stop();
    await world.close();
  }
}
