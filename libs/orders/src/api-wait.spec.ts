import { inTransaction } from '@app/timeout';
import { openWorld, type World } from '../../../test/support/world';
import { longestApiTransactionMs } from './api-wait';

describe('how long the API waits', () => {
  let world: World;
  beforeAll(async () => (world = await openWorld()));
  afterAll(() => world?.close());

  it('is the age of its longest transaction, as the closers see it', async () => {
    await inTransaction(world.dataSource, async (tx) => {
      await tx.rows('SELECT pg_sleep(0.1)');
      expect(await longestApiTransactionMs(world.drainDataSource)).toBeGreaterThanOrEqual(100);
    });
    expect(await longestApiTransactionMs(world.drainDataSource)).toBeLessThan(100);
  });
});
