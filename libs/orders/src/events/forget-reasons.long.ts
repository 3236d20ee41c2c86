import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { OwnRedis } from '../../../timeout/src/testing/own-redis';
import { timed } from '../../../timeout/src/testing/awake-time';
import { eventOf, redisStream, untilTaken } from './event-stream.contract';

/** Below the limit of a call, but some hundred calls read a whole stream. */
const LATENCY_MS = 1_000;
/** Read in more calls than there is time for. */
const MANY = 25_000;
const FORGET_LIMIT_MS = 15_000;

jest.setTimeout(120_000);

let redis: OwnRedis;
let far: Server;
const sockets = new Set<Socket>();

beforeAll(async () => {
  redis = await OwnRedis.start();
  // As a Redis behind a line on which each answer takes a second.
  far = createServer((client) => {
    const upstream = connect(redis.port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket.on('error', () => socket.destroy()));
    }
    client.pipe(upstream).on('data', (bytes: Buffer) => {
      setTimeout(() => client.write(bytes), LATENCY_MS);
    });
  });
  await once(far.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  far?.close();
  await redis?.remove();
});

it('gives up on a stream that it cannot read to its end in time', async () => {
  const key = '{lc}:long';
  const near = redisStream(() => redis.url).create(key, 1_000_000);
  for (let taken = 0; taken < MANY; taken += 5_000) {
    await untilTaken(
      near,
      Array.from({ length: 5_000 }, () => eventOf()),
    );
  }
  const { port } = far.address() as AddressInfo;
  const stream = redisStream(() => `redis://127.0.0.1:${port}`).create(key, 1_000_000);
  await untilTaken(stream, [eventOf()]);
  const { tookMs } = await timed(() =>
    expect(stream.forgetReasons([eventOf().orderId])).rejects.toThrow(
      `Redis did not read all events within ${FORGET_LIMIT_MS} ms`,
    ),
  );
  expect(tookMs).toBeLessThan(FORGET_LIMIT_MS + 3_000);
  await Promise.all([near.close(), stream.close()]);
});
