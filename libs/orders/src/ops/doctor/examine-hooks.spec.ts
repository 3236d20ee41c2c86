import { openWorld, type World } from '../../../../../test/support/world';
import { readRunningSettings } from '../running-settings';
import { examineHooks } from './examine-hooks';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterEach(() => world.owner.rows('WITH p AS (DELETE FROM processes) DELETE FROM workers'));
afterAll(() => world?.close());

/** `hasHooks` null: one that does not work, and has none. */
const process = (pid: number, hasHooks: boolean | null, hasLeft = false) =>
  world.owner.rows(
    `INSERT INTO processes (id, host, pid, settings, has_hooks, left_at)
     VALUES (gen_random_uuid(), 'a', $1, '{}', $2, CASE WHEN $3 THEN now() END)`,
    [pid, hasHooks, hasLeft],
  );
const worker = (pid: number, sweptAgo = '1 s') =>
  world.owner.rows(
    `INSERT INTO workers (id, host, pid, started_at, swept_at, sweep_interval_ms, timer_store_healthy, clock_offset_ms)
     VALUES (gen_random_uuid(), 'a', $1, now(), now() - $2::interval, 10000, true, 0)`,
    [pid, sweptAgo],
  );
const examine = async () => examineHooks(world.dataSource, await readRunningSettings(world, {}));

describe("what doctor says of a host's hooks", () => {
  it('is nothing where none are known', async () => {
    await process(7, false);
    await worker(7);
    expect(await examine()).toEqual([]);
  });

  it('is fine while a worker that has them is alive', async () => {
    await process(7, true);
    await process(8, false);
    await worker(7);
    await worker(8);
    expect(await examine()).toMatchObject([{ state: 'ok', detail: 'at a:7' }]);
  });

  it.each([
    ['its worker has left', async () => process(7, true, true)],
    [
      'its worker is silent',
      async () => {
        await process(7, true);
        await worker(7, '5 minutes');
      },
    ],
    [
      'only a process that does not work has them',
      async () => {
        await process(7, true);
        await process(8, false);
        await worker(8);
      },
    ],
  ])('is a finding when %s', async (_, happens) => {
    await happens();
    expect(await examine()).toMatchObject([
      {
        ...{ area: 'workers', name: 'hooks', state: 'finding' },
        detail: "the host's hooks or stock are known, and no live worker has them",
        fix: expect.stringContaining('start a worker of the host') as string,
      },
    ]);
  });
});

describe("what doctor says of a host's own providers", () => {
  const having = (pid: number, providers: string) =>
    world.owner.rows(
      `INSERT INTO processes (id, host, pid, settings)
       VALUES (gen_random_uuid(), 'a', $1, jsonb_build_object('HOSTS_PROVIDERS', $2::text))`,
      [pid, providers],
    );

  it('is fine of each that a live worker has, and a finding of one that other processes have', async () => {
    await having(7, 'acme,other');
    await having(8, 'acme');
    await worker(8);
    expect(await examine()).toMatchObject([
      { name: 'provider acme', state: 'ok', detail: 'at a:8' },
      {
        ...{ area: 'workers', name: 'provider other', state: 'finding' },
        detail: "other is a provider of the host's own, and no live worker has it",
        fix: expect.stringContaining('start a worker of the host that has other') as string,
      },
    ]);
  });
});
