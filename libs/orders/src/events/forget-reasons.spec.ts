import { OwnRedis } from '../../../timeout/src/testing/own-redis';
import { timed } from '../../../timeout/src/testing/awake-time';
import { eventOf, redisStream, untilTaken } from './event-stream.contract';

/** As long as the product waits for one call, with room for a machine that does other things. */
const SOON_MS = 2 * 1_500;

let redis: OwnRedis;
beforeAll(async () => (redis = await OwnRedis.start()));
afterAll(() => redis?.remove());

it('waits for no word that is not taken out: a transaction, and its locks, wait for this', async () => {
  const stream = redisStream(() => redis.url).create('{lc}:forgotten', 1_000);
  const said = eventOf({ by: 'operator', reason: 'ann has called' });
  await untilTaken(stream, [said]);
  // It is read as ever, and silent to whatever would change it.
  await redis.with((client) => client.call('CLIENT', 'PAUSE', '60000', 'WRITE'));
  try {
    const { tookMs } = await timed(() =>
      expect(stream.forgetReasons([said.orderId])).rejects.toThrow(
        'Redis did not take out what operators have said within 1500 ms',
      ),
    );
    expect(tookMs).toBeLessThan(SOON_MS);
  } finally {
    await redis.with((client) => client.call('CLIENT', 'UNPAUSE'));
    await stream.close();
  }
}, 20_000);
