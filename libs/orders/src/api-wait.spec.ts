import { inTransaction } from '@app/timeout';
import { insertOrders } from '../../../test/support/insert-orders';
import { until } from '../../../test/support/until';
import { openWorld, type World } from '../../../test/support/world';
import { longestApiTransactionMs } from './api-wait';

describe('how long the API waits', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld({ ring: true })));
  afterAll(() => world?.close());

  /** A worker's own steps may take longer than that for once; who stays under way only gets older. */
  const untilItIsShort = (): Promise<unknown> =>
    until(
      'the longest is none of 100 ms',
      async () => (await longestApiTransactionMs(world.drainDataSource)) < 100,
    );

  it('is the age of its longest transaction, as the closers see it', async () => {
    await inTransaction(world.dataSource, async (tx) => {
      await tx.rows('SELECT pg_sleep(0.1)');
      expect(await longestApiTransactionMs(world.drainDataSource)).toBeGreaterThanOrEqual(100);
    });
    await untilItIsShort();
  });

  it('is not how long a worker waits for the stream of events', async () => {
    const relaying = new Promise((resolve, reject) => {
      world.stream.before = async () => {
        world.stream.before = async () => undefined;
        await world.rows('SELECT pg_sleep(0.1)');
        await untilItIsShort().then(resolve, reject);
      };
    });
    await insertOrders(world, { count: 1, closesInMs: 60_000 });
    await relaying;
  });
});
