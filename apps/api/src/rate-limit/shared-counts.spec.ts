import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { takeRedisDatabase } from '../../../../test/support/redis';
import { SharedCounts } from './shared-counts';

const MINUTE_MS = 60_000;
/** In the middle of a window. */
const NOW = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS + MINUTE_MS + 1_000;

describe('SharedCounts', () => {
  const open: SharedCounts[] = [];
  let alone = 0;
  const process = (url: string): SharedCounts => {
    const telemetry = { requestsCountedAlone: (keys: number) => void (alone += keys) };
    // Told when a test says so, and never by the timer.
    const pace = { nowMs: () => NOW, tellEveryMs: MINUTE_MS, redisLimitMs: MINUTE_MS };
    const counts = new SharedCounts(url, telemetry, pace);
    open.push(counts);
    return counts;
  };
  const ask = async (counts: SharedCounts, times: number, key = 'ann') => {
    let answer = await counts.increment(key, MINUTE_MS, 10, 0, 'default');
    for (let i = 1; i < times; i++) {
      answer = await counts.increment(key, MINUTE_MS, 10, 0, 'default');
    }
    return answer;
  };
  beforeEach(() => (alone = 0));
  afterEach(() => open.splice(0).forEach((counts) => counts.onApplicationShutdown()));

  it('limits all processes together', async () => {
    const url = await takeRedisDatabase();
    const [one, two] = [process(url), process(url)];
    expect((await ask(one, 6)).isBlocked).toBe(false);
    expect((await ask(two, 5)).isBlocked).toBe(false);
    await one.tellOthers();
    await two.tellOthers();
    expect(await ask(two, 1)).toMatchObject({ isBlocked: true, totalHits: 12 });
    expect((await ask(two, 1, 'bob')).isBlocked).toBe(false);
    await two.tellOthers();
    await ask(one, 1);
    await one.tellOthers();
    expect(await ask(one, 1)).toMatchObject({ isBlocked: true, totalHits: 14 });
    expect(alone).toBe(0);
  });

  it('goes on alone without Redis, waits for nobody, and counts that', async () => {
    const counts = process('redis://127.0.0.1:1');
    expect((await ask(counts, 10)).isBlocked).toBe(false);
    await counts.tellOthers();
    expect(await ask(counts, 1)).toMatchObject({ isBlocked: true, totalHits: 11 });
    expect(alone).toBe(1);
  });

  it('lets one round wait behind the one under way, however long Redis is silent', async () => {
    const server = createServer();
    const asked = new Promise<Socket>((resolve) => server.once('connection', resolve));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const counts = process(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await ask(counts, 1);
    const underWay = counts.tellOthers();
    const socket = await asked;
    await ask(counts, 1, 'bob');
    const [next, another] = [counts.tellOthers(), counts.tellOthers()];
    // What waits for Redis hears that it is gone.
    server.close();
    socket.destroy();
    await another;
    expect(next).not.toBe(underWay);
    expect(another).toBe(next);
    expect(alone).toBe(2);
  });

  it('opens no connection any more once it has ended, also for a round that waits', async () => {
    const server = createServer();
    let connections = 0;
    const asked = new Promise<Socket>((resolve) =>
      server.on('connection', (socket) => {
        connections += 1;
        resolve(socket);
      }),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const counts = process(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await ask(counts, 1);
    void counts.tellOthers();
    const socket = await asked;
    await ask(counts, 1, 'bob');
    const next = counts.tellOthers();
    counts.onApplicationShutdown();
    socket.destroy();
    const opened = new Promise((resolve) => server.once('connection', resolve));
    await Promise.race([next, opened]);
    server.close();
    expect(connections).toBe(1);
  });
});
