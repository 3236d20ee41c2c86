import { until } from '../../../../test/support/until';
import { Brake, type BrakeOptions } from './brake';
import { readStopped, releaseBrakes } from './brake-desk';
import { CLOCK_JUMPED } from './brake-table';
import { ClockJumps } from './clock-jumps';
import { Drain } from '../draining/drain';
import { drainDefaults } from '../draining/drain-options';
import { BrakesOfKinds1764140000000 } from '../migrations/1764140000000-brakes-of-kinds';
import { DeadlineStore } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';

const MINE = 'payment';
const OTHERS = 'mail';
const HOUR_MS = 3_600_000;
const DUE = 150;
const by = { actor: 'ann', reason: 'seen' };

/** As the order module's and a host's, whose tables are in one schema. */
describe('Two brakes of one schema, for kinds of their own', () => {
  let store: DeadlineStore;
  let uptimeMs: number;
  let machines = 0;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(async () => {
    await store.empty();
    uptimeMs = 10 * HOUR_MS;
    await store.add(MINE, Array<number>(DUE).fill(-1_000));
    await store.add(OTHERS, Array<number>(DUE).fill(-1_000));
  });

  const brake = (
    kind: string,
    suspicion?: BrakeOptions['suspicion'],
    machine = `machine-${++machines}`,
  ): Brake =>
    new Brake(
      store.dataSource,
      { kinds: [kind], share: 0.2, suspicion },
      new ClockJumps(store.dataSource, () => uptimeMs, machine),
    );
  const mailFails = (): string => 'mail_down';
  const drain = (of: Brake): Drain =>
    new Drain(
      MINE,
      new Effects(),
      drainParts(store.dataSource, MINE, { brake: of }),
      drainDefaults,
    );
  const handled = async (): Promise<number> => (await store.rows('SELECT FROM effects')).length;
  const stoppedKinds = async (): Promise<string[]> =>
    (await readStopped(store.dataSource)).map(({ kind }) => kind);
  const release = async (kind: string): Promise<void> => {
    const stopped = (await readStopped(store.dataSource)).filter((one) => one.kind === kind);
    await releaseBrakes(
      store.dataSource,
      stopped.map(({ id }) => id),
      by,
    );
  };

  it('stop what they cover, and nothing of each other', async () => {
    const [mine, others] = [brake(MINE), brake(OTHERS, mailFails)];
    await mine.refresh();
    await others.refresh();
    expect(await stoppedKinds()).toEqual([OTHERS]);
    await mine.refresh();
    expect([mine.isOn, await mine.isEngaged(), await mine.stops()]).toEqual([false, false, false]);
    expect([others.isOn, await others.isEngaged()]).toEqual([true, true]);
    await drain(mine).run('timer');
    expect(await handled()).toBe(DUE);
  });

  it('go on each when its own is released, and are judged beside what is on or confirmed', async () => {
    const [mine, others] = [brake(MINE), brake(OTHERS, mailFails)];
    await mine.refresh();
    await others.refresh();
    // The database's clock is an hour ahead from now on.
    uptimeMs -= HOUR_MS;
    await drain(mine).run('timer');
    expect(await handled()).toBe(0);
    expect((await stoppedKinds()).sort()).toEqual([OTHERS, MINE]);
    await release(OTHERS);
    await others.refresh();
    await drain(mine).run('timer');
    expect([others.isOn, mine.isOn, await handled()]).toEqual([false, true, 0]);
    await release(MINE);
    await drain(mine).run('timer');
    expect(await handled()).toBe(DUE);
  });

  it('are not silenced by what somebody has just confirmed of the other', async () => {
    const [mine, others] = [brake(MINE), brake(OTHERS, mailFails)];
    await mine.refresh();
    await others.refresh();
    await release(OTHERS);
    uptimeMs -= HOUR_MS;
    await drain(mine).run('timer');
    expect(await handled()).toBe(0);
    expect(await readStopped(store.dataSource)).toMatchObject([
      { cause: CLOCK_JUMPED, kind: MINE },
    ]);
  });

  it.each(['goes on', 'has begun anew'])(
    'judge a jump each for itself on one machine, also where a process %s that the other was quicker than',
    async (which) => {
      const on = (kind: string): Brake => brake(kind, undefined, 'the-only-one');
      const [mine, others] = [on(MINE), on(OTHERS)];
      await store.rows('DELETE FROM deadlines WHERE kind = $1', [OTHERS]);
      await mine.refresh();
      await others.refresh();
      // That was hours ago, and then the clock jumped.
      await store.rows(
        `UPDATE machine_clocks SET uptime_ms = uptime_ms - 7200000, database_at = database_at - interval '2 hours'`,
      );
      uptimeMs -= HOUR_MS;
      await others.refresh();
      const one = which === 'goes on' ? mine : on(MINE);
      await drain(one).run('timer');
      expect([others.isOn, one.isOn, await handled()]).toEqual([false, true, 0]);
    },
  );

  it('have one row each, whichever of their kinds is the worst as several processes judge', async () => {
    const both = (): Brake =>
      new Brake(
        store.dataSource,
        { kinds: [MINE, OTHERS], share: 0.2, suspicion: mailFails },
        new ClockJumps(store.dataSource, () => uptimeMs, `machine-${++machines}`),
      );
    const [first, second] = [both(), both()];
    await first.refresh();
    await store.rows('DELETE FROM deadlines WHERE kind = (SELECT kind FROM timeout_brakes)');
    await second.refresh();
    expect(await stoppedKinds()).toHaveLength(1);
    expect([first.isOn, second.isOn]).toEqual([true, true]);
  });

  it('have one row where another process puts its own on at the same moment, for another kind', async () => {
    const both = new Brake(
      store.dataSource,
      { kinds: [MINE, OTHERS], share: 0.2, suspicion: mailFails },
      new ClockJumps(store.dataSource, () => uptimeMs, `machine-${++machines}`),
    );
    await store.rows('DELETE FROM deadlines WHERE kind = $1', [OTHERS]);
    const neighbour = store.dataSource.createQueryRunner();
    await neighbour.startTransaction();
    await neighbour.query(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('mail_down', $1, 150, 150)`,
      [OTHERS],
    );
    let isOver = false;
    const judging = both.refresh().finally(() => (isOver = true));
    const waiting = `SELECT FROM pg_stat_activity
                      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until('it waits', async () => isOver || (await store.rows(waiting)).length > 0);
    await neighbour.commitTransaction();
    await neighbour.release();
    await judging;
    expect([await stoppedKinds(), both.isOn]).toEqual([[OTHERS], true]);
  });

  it('let nothing pass where tables of an older version have room for one alone', async () => {
    const runner = store.dataSource.createQueryRunner();
    const migration = new BrakesOfKinds1764140000000();
    await migration.down(runner);
    const [mine, others] = [brake(MINE), brake(OTHERS, mailFails)];
    await mine.refresh();
    await others.refresh();
    uptimeMs -= HOUR_MS;
    await expect(drain(mine).run('timer')).rejects.toThrow('an older version');
    expect(await handled()).toBe(0);
    await migration.up(runner);
    await runner.release();
    await drain(mine).run('timer');
    expect([mine.isOn, await handled()]).toEqual([true, 0]);
  });

  it('are one again as the migration is taken back, which lets nothing go on', async () => {
    const runner = store.dataSource.createQueryRunner();
    const engage = `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('x', $1, 1, 1)`;
    await store.rows(engage, [MINE]);
    await store.rows(engage, [OTHERS]);
    await new BrakesOfKinds1764140000000().down(runner);
    expect(await stoppedKinds()).toHaveLength(1);
    await expect(store.rows(engage, ['trial'])).rejects.toThrow('one_brake_at_a_time');
    await new BrakesOfKinds1764140000000().up(runner);
    await runner.release();
  });
});
