import os from 'node:os';
import { Brake, type BrakeOptions } from './brake';
import { type BrakeFacts, CLOCK_JUMPED } from './brake-table';
import { ClockJumps } from './clock-jumps';
import { DeadlineStore } from '../testing/deadline-store';

const HOUR_MS = 3_600_000;
const KIND = 'payment';

let store: DeadlineStore;
let uptimeMs = 0;
let machines = 0;

beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(async () => {
  await store.empty();
  uptimeMs = 1_000_000;
  machines += 1;
});

function brake(options: Partial<BrakeOptions> = {}): { brake: Brake; told: BrakeFacts[] } {
  const told: BrakeFacts[] = [];
  const all = { kinds: [KIND], share: 0.2, onEngaged: (facts: BrakeFacts) => told.push(facts) };
  const { dataSource } = store;
  const made = new Brake(
    dataSource,
    { ...all, ...options },
    new ClockJumps(dataSource, () => uptimeMs, `machine-${machines}`),
  );
  return { brake: made, told };
}

const insert = (count: number, due: string): Promise<unknown> =>
  store.dataSource.query(
    `INSERT INTO deadlines (kind, due_at, subject_id)
     SELECT '${KIND}', now() + interval '${due}', gen_random_uuid() FROM generate_series(1, ${count})`,
  );

/** Of deadlines and their indexes, in this session. */
async function blocksRead(): Promise<number> {
  await store.rows('SELECT pg_stat_force_next_flush()');
  const [row] = await store.rows<{ n: string }>(
    `SELECT sum(pg_stat_get_blocks_fetched(oid)) AS n FROM pg_class WHERE relname LIKE '%_deadlines%'`,
  );
  return Number(row?.n);
}

const after = (ms: number): Date => new Date(Date.now() + ms);

/** What a batch does that begins while the database's clock says so. */
async function watch(one: Brake, databaseNow: Date): Promise<void> {
  while (one.wantsToJudge(databaseNow, uptimeMs)) await one.judge();
}

describe('Brake', () => {
  it('lets a burst of 100,000 through: being many is not enough', async () => {
    await insert(100_000, '-1 second');
    const { brake: one, told } = brake();
    await one.refresh();
    await one.refresh();
    expect(one.holds(KIND)).toBe(false);
    expect(told).toEqual([]);
  });

  it('judges by what is due, however many wait', async () => {
    // The blocks that a vacuum reads count, too.
    for (const part of ['near_deadlines', 'far_deadlines'])
      await store.rows(`ALTER TABLE ${part} SET (autovacuum_enabled = false)`);
    await insert(30, '-1 second');
    await insert(60_000, '1 day');
    await store.rows('ANALYZE deadlines');
    const { brake: one, told } = brake();
    await watch(one, after(0));
    const before = await blocksRead();
    await watch(one, after(HOUR_MS));
    expect(await blocksRead()).toBeLessThan(before + 50);
    expect(told).toEqual([]);
  });

  it('stops when the clock has jumped and a large share is due, and tells why once', async () => {
    await insert(50, '-1 second');
    await insert(50, '1 day');
    const { brake: one, told } = brake();
    await watch(one, after(0));
    await watch(one, after(HOUR_MS));
    await watch(one, after(HOUR_MS));
    expect(one.holds(KIND)).toBe(true);
    expect(one.holds('refund')).toBe(false);
    expect(told).toEqual([{ cause: CLOCK_JUMPED, kind: KIND, due: 50, waiting: 100 }]);
  });

  it('goes on after a jump when little is due, after a backward step, and after an outage', async () => {
    await insert(15, '-1 second');
    await insert(85, '1 day');
    const { brake: one } = brake();
    await watch(one, after(0));
    await watch(one, after(HOUR_MS));
    expect(one.holds(KIND)).toBe(false);
    await insert(500, '-1 second');
    await watch(one, after(-24 * HOUR_MS));
    expect(one.holds(KIND)).toBe(false);
    uptimeMs += 25 * HOUR_MS;
    await watch(one, after(HOUR_MS));
    expect(one.holds(KIND)).toBe(false);
  });

  it('takes for no jump what another process of this machine knows, however long one has only read', async () => {
    const [{ brake: reader }, { brake: worker }] = [brake(), brake()];
    expect(await reader.stops()).toBe(false);
    uptimeMs -= HOUR_MS;
    await worker.refresh();
    // A burst, weeks later.
    await insert(500, '-1 second');
    expect(await reader.stops()).toBe(false);
    uptimeMs -= HOUR_MS;
    expect(await reader.stops()).toBe(true);
  });

  it('forgets no jump by a restart, and takes no hour without workers for one', async () => {
    await insert(50, '-1 second');
    await brake().brake.refresh();
    uptimeMs += HOUR_MS;
    const { brake: back } = brake();
    await watch(back, after(HOUR_MS));
    expect(back.holds(KIND)).toBe(false);
    uptimeMs += 5_000;
    const { brake: restarted } = brake();
    await watch(restarted, after(25 * HOUR_MS));
    expect(restarted.holds(KIND)).toBe(true);
  });

  it('is told to every process, and once released stays so while the suspicion lasts', async () => {
    await insert(150, '-1 second');
    const suspicion = (): string => 'provider_fails';
    const { brake: one } = brake({ suspicion });
    const { brake: other, told } = brake();
    await one.refresh();
    await other.refresh();
    expect([one.holds(KIND), other.holds(KIND)]).toEqual([true, true]);
    expect(told.map(({ cause }) => cause)).toEqual(['provider_fails']);
    await store.dataSource.query(
      `UPDATE timeout_brakes SET released_at = now(), released_by = 'ann', release_reason = 'seen'`,
    );
    for (let later = 0; later < 2; later++) {
      uptimeMs += 10_000;
      await one.refresh();
    }
    expect(one.holds(KIND)).toBe(false);
  });

  it('is released by a process that begins with it switched off, and only what it would stop', async () => {
    const stopped = () =>
      store.rows<{ kind: string; by: string | null; reason: string | null }>(
        'SELECT kind, released_by AS by, release_reason AS reason FROM timeout_brakes',
      );
    const engage = (kind: string) =>
      store.rows(
        `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('test', $1, 1, 1)`,
        [kind],
      );
    await engage('of another');
    await brake({ share: null }).brake.refresh();
    expect(await stopped()).toEqual([{ kind: 'of another', by: null, reason: null }]);
    await store.rows('DELETE FROM timeout_brakes');
    await engage(KIND);
    const { brake: off } = brake({ share: null });
    await off.refresh();
    const released = { kind: KIND, by: 'settings', reason: 'the brake is switched off' };
    expect(await stopped()).toEqual([released]);
    // What others stop later, whose settings are newer, is theirs.
    await engage(KIND);
    await off.refresh();
    expect(await stopped()).toEqual([released, { kind: KIND, by: null, reason: null }]);
  });

  it('judges again where it was released while the clock was ahead, and that was set back', async () => {
    await insert(50, '-1 second');
    const { brake: one } = brake();
    await watch(one, after(0));
    await store.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting, released_at, released_by, release_reason)
       VALUES ('a test', $1, 50, 50, now() + interval '1 day', 'ann', 'seen')`,
      [KIND],
    );
    await watch(one, after(HOUR_MS));
    expect(one.holds(KIND)).toBe(true);
  });

  it('asks Postgres nothing while nothing is wrong', async () => {
    const { brake: one } = brake({ suspicion: () => undefined });
    await watch(one, after(0));
    const asked = jest.spyOn(store.dataSource, 'createQueryRunner');
    for (let ring = 1; ring <= 100; ring++) {
      expect(one.wantsToJudge(after(ring), uptimeMs)).toBe(false);
    }
    expect(asked).not.toHaveBeenCalled();
    asked.mockRestore();
  });

  it('takes no container that has just begun, on a machine that was there before, for a jump', async () => {
    const told: unknown[] = [];
    const open = () =>
      new Brake(store.dataSource, {
        kinds: [KIND],
        share: 0.2,
        onEngaged: (one) => told.push(one),
      });
    await open().refresh();
    await insert(100, '-1 second');
    // As lxcfs tells of a container, under the same name of the kernel's run.
    const uptime = jest.spyOn(os, 'uptime').mockReturnValue(1);
    await open().refresh();
    uptime.mockRestore();
    expect(told).toEqual([]);
  });

  it.each([
    ['holds', 'SELECT FROM machine_clocks FOR UPDATE'],
    ['has locked the table of', 'LOCK TABLE machine_clocks IN SHARE MODE'],
  ])('goes on while somebody %s what this machine is remembered by', async (_, hold) => {
    const remembered = () => store.rows('SELECT uptime_ms::int AS uptime FROM machine_clocks');
    const dba = store.dataSource.createQueryRunner();
    await store.impatiently(async (dataSource) => {
      const options = { kinds: [KIND], share: 0.2 };
      const one = new Brake(
        dataSource,
        options,
        new ClockJumps(dataSource, () => uptimeMs, `machine-${machines}`),
      );
      await one.refresh();
      const before = await remembered();
      await dba.startTransaction();
      await dba.query(hold);
      uptimeMs += 10_000;
      await one.refresh();
      expect(await remembered()).toEqual(before);
      await dba.rollbackTransaction();
      await one.refresh();
      expect(await remembered()).toEqual([{ uptime: uptimeMs }]);
    });
    await dba.release();
  });
});
