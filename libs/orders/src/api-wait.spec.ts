import { inTransaction } from '@app/timeout';
import { insertOrders } from '../../../test/support/insert-orders';
import { openWorld, type World } from '../../../test/support/world';
import { longestApiTransactionMs } from './api-wait';

describe('how long the API waits', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld({ ring: true })));
  afterAll(() => world?.close());

  it('is the age of its longest transaction, as the closers see it', async () => {
    await inTransaction(world.dataSource, async (tx) => {
      await tx.rows('SELECT pg_sleep(0.1)');
      expect(await longestApiTransactionMs(world.drainDataSource)).toBeGreaterThanOrEqual(100);
    });
    expect(await longestApiTransactionMs(world.drainDataSource)).toBeLessThan(100);
  });

  it('is not how long a worker waits for the stream of events', async () => {
    const relaying = new Promise<number>((resolve, reject) => {
      world.stream.before = async () => {
        world.stream.before = async () => undefined;
        await world.rows('SELECT pg_sleep(0.1)');
        await longestApiTransactionMs(world.drainDataSource).then(resolve, reject);
      };
    });
    await insertOrders(world, { count: 1, closesInMs: 60_000 });
    expect(await relaying).toBeLessThan(100);
  });
});
