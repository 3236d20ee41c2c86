import { openWorld, type World } from '../../../../../test/support/world';
import { examineHandlers } from './examine-handlers';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterEach(() => world.owner.rows('DELETE FROM workers'));
afterAll(() => world?.close());

const worker = (pid: number, stoppedKinds: readonly object[], sweptAgo = '0 s') =>
  world.owner.rows(
    `INSERT INTO workers (id, host, pid, started_at, swept_at, sweep_interval_ms, timer_store_healthy, clock_offset_ms, stopped_kinds)
     VALUES (gen_random_uuid(), 'a', $1, now(), now() - $2::interval, 10000, true, 0, $3)`,
    [pid, sweptAgo, JSON.stringify(stoppedKinds)],
  );

describe('what doctor says of handlers', () => {
  it('is nothing where each handles something', async () => {
    await worker(7, []);
    const { state, detail } = await examineHandlers(world.dataSource);
    expect([state, detail]).toEqual(['ok', 'none fails for all']);
  });

  it('is which one fails for all, where, for how long and with what', async () => {
    await worker(7, [{ kind: 'send "reminder"', reason: 'TypeError: bug', forMs: 90_400 }]);
    await worker(8, []);
    const { area, name, state, detail, fix } = await examineHandlers(world.dataSource);
    expect([area, name, state]).toEqual(['workers', 'handlers', 'finding']);
    // So long as it had when it last swept, and since then.
    expect(detail).toMatch(
      /^fails "send \\"reminder\\"" for all, at a:7 for (9\d|1[0-2]\d) s: TypeError: bug$/,
    );
    expect(fix).toContain('goes on by itself');
  });

  it('is nothing of a worker that is gone', async () => {
    await worker(7, [{ kind: 'payment', reason: 'TypeError: bug', forMs: 90_400 }], '1 hour');
    expect(await examineHandlers(world.dataSource)).toMatchObject({ state: 'ok' });
  });

  it('is nothing of an older version, whose workers did not say so', async () => {
    await world.owner.rows('ALTER TABLE workers RENAME stopped_kinds TO stopped');
    try {
      await world.owner.rows(
        `INSERT INTO workers (id, host, pid, started_at, sweep_interval_ms, timer_store_healthy, clock_offset_ms)
         VALUES (gen_random_uuid(), 'a', 7, now(), 10000, true, 0)`,
      );
      expect(await examineHandlers(world.dataSource)).toMatchObject({ state: 'ok' });
    } finally {
      await world.owner.rows('ALTER TABLE workers RENAME stopped TO stopped_kinds');
    }
  });
});
