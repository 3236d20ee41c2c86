import { ExecutionError } from 'redlock';
import { FAIL_FAST, openRedis } from '../redis/redis';
import { OwnRedis } from '../testing/own-redis';
import { keysOf } from '../testing/lock-wish';
import { Keys } from './keys';
import { BATCH, RedlockHolds } from './redlock-holds';

const TAG = '{test}';
const TTL_MS = 20_000;

describe('the two ways to hold many keys', () => {
  let server: OwnRedis;
  let holds: RedlockHolds;
  let close: () => void;
  const errors: Error[] = [];
  beforeAll(async () => {
    server = await OwnRedis.start();
    const failed = (error: Error): void => void errors.push(error);
    const client = openRedis(server.url, FAIL_FAST, failed);
    close = () => client.disconnect();
    if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve));
    holds = new RedlockHolds(client, failed);
  });
  afterAll(async () => {
    close?.();
    await server?.remove();
    expect(errors).toEqual([]);
  });

  const acquire = (keys: readonly string[], asBatch: boolean) =>
    holds.acquire(TAG, Keys.of(keys), TTL_MS, asBatch);

  // Few are looked for one by one, many by their marks.
  it.each([
    ['one key', 1],
    ['many keys', 3 * BATCH],
  ])('keep %s, held each by itself, from a batch, and are kept from it', async (_, count) => {
    const [batch, some] = [keysOf(3 * BATCH), keysOf(count)];
    const shared = batch[BATCH] as string;
    const own = [...some.slice(1), shared];
    const held = await acquire(batch, true);
    await expect(acquire(own, false)).rejects.toBeInstanceOf(ExecutionError);
    const lives = await holds.livesOf(TAG, Keys.of([...some, shared]));
    expect(lives.map((ms) => ms > 0)).toEqual([...some.map(() => false), true]);
    await held.release();
    const each = await acquire(own, false);
    await expect(acquire(batch, true)).rejects.toBeInstanceOf(ExecutionError);
    const others = await holds.livesOf(TAG, Keys.of(batch));
    expect(others.map((ms) => ms > 0)).toEqual(batch.map((key) => key === shared));
    await each.extend(TTL_MS);
    await each.release();
    const [again, apart] = await Promise.all([acquire(batch, true), acquire(keysOf(count), false)]);
    await Promise.all([again.release(), apart.release()]);
  });
});
