import { openWorld, type World } from '../../../../../test/support/world';
import { examineWorkers } from './examine-workers';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterEach(() => world.owner.rows('DELETE FROM workers'));
afterAll(() => world?.close());

const worker = (pid: number, sweptAgo = '1 s') =>
  world.owner.rows(
    `INSERT INTO workers (id, host, pid, started_at, swept_at, sweep_interval_ms, timer_store_healthy, clock_offset_ms)
     VALUES (gen_random_uuid(), 'a', $1, now(), now() - $2::interval, 10000, true, 0)`,
    [pid, sweptAgo],
  );
const examine = (driver = 'bullmq') => examineWorkers(world.dataSource, driver);

/** So long as it was written, and as it took to look. */
const silentFor = (seconds: number, rest = ''): string => {
  const later = Array.from({ length: 30 }, (_, nth) => seconds + nth).join('|');
  return expect.stringMatching(new RegExp(`^silent for (${later}) s${rest}$`)) as string;
};

describe('what doctor says of workers', () => {
  it('is nothing of when a sweep ran where none is alive: the last may have said goodbye', async () => {
    expect(await examine()).toMatchObject([{ state: 'finding', detail: 'no worker' }]);
    await worker(7, '216 s');
    expect(await examine()).toMatchObject([
      { name: 'alive', state: 'finding', detail: 'no worker' },
      { name: 'a:7', state: 'finding', detail: silentFor(216) },
    ]);
  });

  it('is a finding for the first minutes of a silence', async () => {
    await worker(7, '60 s');
    await worker(8);
    expect(await examine()).toMatchObject([
      { name: 'alive', state: 'ok', detail: 'a:8' },
      { name: 'a:7', state: 'finding', detail: silentFor(60) },
    ]);
  });

  it('is that one has ended which is silent for long beside others that sweep', async () => {
    await worker(7, '237 s');
    await worker(8);
    expect(await examine()).toMatchObject([
      { name: 'alive', state: 'ok', detail: 'a:8' },
      {
        ...{ name: 'a:7', state: 'warning' },
        detail: silentFor(237, ': it has probably ended, without a clean shutdown'),
        fix: expect.stringContaining('enableShutdownHooks()') as string,
      },
    ]);
  });

  it.each([
    ['redis-zset', 'redis'],
    ['nats', 'timer'],
    ['postgres', 'postgres'],
  ])(
    'leads to where the store of %s is looked at, if one cannot reach it',
    async (driver, area) => {
      await worker(7);
      await world.owner.rows('UPDATE workers SET timer_store_healthy = false');
      expect(await examine(driver)).toMatchObject([
        { name: 'alive', state: 'ok' },
        { name: 'a:7', state: 'finding', fix: `see the ${area} checks` },
      ]);
    },
  );

  it.each([
    [600_001, "600001 ms behind the database's"],
    [-1_500, "1500 ms ahead of the database's"],
  ])('is how far a clock is off, and which way (%d)', async (offsetMs, said) => {
    await worker(7);
    await world.owner.rows('UPDATE workers SET clock_offset_ms = $1', [offsetMs]);
    const [, wrong] = await examine();
    expect(wrong).toMatchObject({ state: 'finding', detail: `its clock is ${said}` });
  });
});
