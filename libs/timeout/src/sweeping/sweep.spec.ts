import { until } from '../../../../test/support/until';
import { enterBatch } from '../draining/batch-entry';
import { claimDue } from '../draining/claim-due';
import { DeadlineStore } from '../testing/deadline-store';
import { Gate } from '../testing/gate';
import { HandDriver } from '../testing/hand-driver';
import { EFFECTS, handlingOf, KIND, serviceOptions } from '../testing/service-harness';
import type { TimeoutOptions } from '../timeout-options';
import type { TimeoutService } from '../timeout.service';
import { inTransaction } from '../database/in-transaction';
import type { Transaction } from '../database/transaction';

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(() => store.empty());

/** A slow store: `slow` of it passes a gate first. */
function gated(slow: 'arm' | 'survey'): { driver: HandDriver; gate: Gate } {
  const [driver, gate] = [new HandDriver(), new Gate()];
  const { arm, survey } = driver;
  if (slow === 'arm') {
    driver.arm = async (alarms) => {
      await gate.pass();
      await arm.call(driver, alarms);
    };
  } else {
    driver.survey = async () => {
      await gate.pass();
      return survey.call(driver);
    };
  }
  return { driver, gate };
}

const effects = () => store.rows<{ by: string }>('SELECT * FROM effects');

describe('Sweep', () => {
  it('takes what is overdue, whatever the alarms did, and says how late it was', async () => {
    const beganMs = performance.now();
    await store.add(KIND, [-50_000, -40_000, -100, 60_000]);
    const counts = await handlingOf(store).sweep.runOnce(30_000);
    // What is overdue by 100 ms is left to the alarm that is about to ring for it.
    expect(counts).toMatchObject({ found: 2, changed: 2, lost: 0, failed: 0 });
    expect(counts.oldestLagMs).toBeGreaterThanOrEqual(50_000);
    expect(counts.oldestLagMs).toBeLessThan(50_000 + 1 + performance.now() - beganMs);
  });

  it('by hand takes everything that is due', async () => {
    await store.add(KIND, [-5_000, -1, 60_000]);
    expect(await handlingOf(store).runSweep()).toMatchObject({ found: 2, changed: 2 });
  });

  it('shares the work among any number that sweep at once', async () => {
    await store.add(KIND, Array<number>(500).fill(-5_000));
    const sweeps = await Promise.all([1, 2, 3, 4, 5].map(() => handlingOf(store).sweep.runOnce()));
    expect(sweeps.reduce((sum, { changed }) => sum + changed, 0)).toBe(500);
    expect(await effects()).toHaveLength(500);
  });

  it('arms what has come within the horizon', async () => {
    await store.add(KIND, [20_000, 30_000, 90_000]);
    const driver = new HandDriver();
    expect(await handlingOf(store, driver).sweep.runOnce()).toMatchObject({ found: 0, armed: 2 });
    expect(driver.armed).toHaveLength(2);
  });

  it('works without the timer store, and comes more often then', async () => {
    await store.add(KIND, [-5_000]);
    const driver = new HandDriver();
    driver.isAway = true;
    const { sweep } = handlingOf(store, driver);
    expect(await sweep.runOnce()).toMatchObject({ changed: 1, armed: 0 });
    expect(sweep.timerStoreHealthy).toBe(false);
    expect(sweep.isDue(performance.now() + 1_000)).toBe(true);
    driver.isAway = false;
    await sweep.runOnce();
    expect(sweep.timerStoreHealthy).toBe(true);
    expect(sweep.isDue(performance.now() + 1_000)).toBe(false);
    expect(sweep.isDue(performance.now() + 10_000)).toBe(true);
  });

  describe('blames the timer store for what is late', () => {
    const health: string[] = [];
    beforeEach(() => void (health.length = 0));
    const timerStore = (state: string, why: unknown) =>
      void health.push(`${state}: ${String(why)}`);
    /** By the fifty seconds it was late, and as long as a busy machine takes to look. */
    const isTold = [
      expect.stringMatching(/^unhealthy: a deadline of kind "payment" was [5-9]\d{4} ms overdue$/),
    ];
    /** One that has been under way for an hour. */
    const longSince = (change: Partial<TimeoutOptions> = {}): TimeoutService => {
      const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now() - 3_600_000);
      const timeouts = handlingOf(store, new HandDriver(), { timerStore }, change);
      now.mockRestore();
      return timeouts;
    };

    it('where nobody is at it', async () => {
      await store.add(KIND, [-50_000]);
      await longSince().sweep.runOnce();
      expect(health).toEqual(isTold);
    });

    it('and not where it was due before it could ring', async () => {
      await store.add(KIND, [-50_000]);
      await handlingOf(store, new HandDriver(), { timerStore }).sweep.runOnce();
      expect(health).toEqual([]);
    });

    it('and not where somebody is handling them', async () => {
      await store.add(KIND, [-50_000, -40_000]);
      await inTransaction(store.dataSource, async (tx) => {
        await enterBatch(tx, KIND, 2, []);
        await claimDue(tx, KIND, 1, 0);
        await longSince().sweep.runOnce();
      });
      expect(health).toEqual([]);
    });

    it('and not where somebody holds them, and claims pass them over', async () => {
      await store.add(KIND, [-50_000, -40_000, -200]);
      await inTransaction(store.dataSource, async (tx) => {
        await tx.rows(
          `SELECT FROM near_deadlines WHERE due_at < now() - interval '1 s' FOR UPDATE`,
        );
        await longSince().sweep.runOnce();
        expect(health).toEqual([]);
      });
      await longSince().sweep.runOnce();
      expect(health).toEqual(isTold);
    });

    it('and not where timeouts have stood still until now', async () => {
      await store.add(KIND, [-50_000]);
      const timeouts = longSince({ brake: { kinds: [KIND], share: 0.5 } });
      const { brake, sweep } = timeouts;
      let uptimeMs = brake.uptimeMs();
      Object.defineProperty(brake, 'uptimeMs', { value: () => uptimeMs });
      await store.rows(
        `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('a test', $1, 2, 2)`,
        [KIND],
      );
      expect(await sweep.runOnce()).toMatchObject({ changed: 0 });
      await store.rows(
        `UPDATE timeout_brakes SET released_at = now(), released_by = 'ann', release_reason = 'seen'`,
      );
      expect(await sweep.runOnce()).toMatchObject({ changed: 1 });
      expect([health, brake.isOn]).toEqual([[], false]);
      uptimeMs += 60_000;
      await store.add(KIND, [-50_000]);
      await sweep.runOnce();
      expect(health).toEqual(isTold);
    });

    it('and not where they wait for a table that somebody has locked', async () => {
      await store.add(KIND, Array<number>(20).fill(-100));
      const timeouts = longSince();
      const dba = store.dataSource.createQueryRunner();
      await dba.startTransaction();
      await dba.query('LOCK TABLE effects IN SHARE MODE');
      const sweep = () => timeouts.runSweep();
      await expect(sweep()).rejects.toThrow('A table is locked');
      await store.rows(`UPDATE near_deadlines SET due_at = due_at - interval '50 s'`);
      await expect(sweep()).rejects.toThrow('A table is locked');
      await dba.rollbackTransaction();
      await dba.release();
      expect(await sweep()).toMatchObject({ changed: 20 });
      expect(health).toEqual([]);
    });
  });

  it('goes on while a slow store takes long to arm, one arming at a time', async () => {
    await store.add(KIND, [-5_000, 20_000, 30_000]);
    const { driver, gate } = gated('arm');
    const health = jest.fn();
    const sweepOptions = { ...serviceOptions.sweep, unhealthyIntervalMs: 20 };
    const { sweep } = handlingOf(store, driver, { timerStore: health }, { sweep: sweepOptions });
    const asked = jest.spyOn(driver, 'arm');
    for (const left of [1, 0]) {
      const { armed, drained } = await sweep.begin();
      expect([armed, (await drained).changed]).toEqual([0, left]);
    }
    await gate.reached();
    expect(asked).toHaveBeenCalledTimes(1);
    gate.open();
    expect(await sweep.runOnce()).toMatchObject({ armed: 2 });
    expect(new Set(driver.armed.map(({ id }) => id)).size).toBe(2);
    expect(health).not.toHaveBeenCalled();
  });

  it('by hand takes what has become due since another sweep began to arm', async () => {
    await store.add(KIND, [20_000]);
    const { driver, gate } = gated('survey');
    const sweepOptions = { ...serviceOptions.sweep, unhealthyIntervalMs: 20 };
    const { sweep } = handlingOf(store, driver, {}, { sweep: sweepOptions });
    const { drained } = await sweep.begin();
    await drained;
    await gate.reached();
    // Far, as what a test has moved to the present is.
    await store.rows(
      `INSERT INTO far_deadlines (far, kind, due_at, subject_id)
       VALUES (true, $1, now() - interval '1 second', gen_random_uuid())`,
      [KIND],
    );
    const byHand = sweep.runOnce(0);
    gate.open();
    expect(await byHand).toMatchObject({ found: 1, changed: 1 });
  });

  it('ends in the middle of many alarms when it is told to', async () => {
    await store.add(KIND, Array<number>(2_500).fill(30_000));
    const { driver, gate } = gated('arm');
    const timeouts = handlingOf(store, driver, {}, { granularity: 'subject' });
    const sweeping = timeouts.sweep.runOnce();
    await gate.reached();
    const stopped = timeouts.stop();
    gate.open();
    await stopped;
    expect(driver.armed).toHaveLength(250);
    expect(await sweeping).toMatchObject({ armed: 250 });
  });

  it('takes at once what is late with nobody at it, and arms next', async () => {
    const { sweep } = handlingOf(store);
    // A drain of it that is still under way could be at the late one.
    await (
      await sweep.begin()
    ).drained;
    await store.add(KIND, [60_000]);
    expect(await sweep.takeMissed()).toBe(false);
    expect(sweep.isDue(performance.now())).toBe(false);
    await store.add(KIND, [-550]);
    expect(await sweep.takeMissed()).toBe(true);
    expect(sweep.isDue(performance.now())).toBe(true);
    const handled = async (): Promise<boolean> => (await effects()).length === 1;
    await until('the late one is handled', handled);
  });

  it('reports each run', async () => {
    const [swept, sweptUp] = [jest.fn(), jest.fn()];
    await handlingOf(store, new HandDriver(), { swept, sweptUp }).sweep.runOnce();
    expect(swept).toHaveBeenCalledWith(expect.objectContaining({ armed: 0, oldestLagMs: 0 }));
    expect(sweptUp).toHaveBeenCalledWith(expect.objectContaining({ found: 0 }));
  });

  it('finishes the other kinds when one fails, and then fails', async () => {
    await store.add(KIND, [-5_000]);
    await store.add('refund', [-5_000]);
    const timeouts = handlingOf(store, new HandDriver(), {}, { kinds: [KIND, 'refund'] });
    const full = `DO $$ BEGIN RAISE 'No space left' USING ERRCODE = '53100'; END $$`;
    const handle = async (_: unknown, tx: Transaction) => {
      await tx.rows(full);
      return { changed: 1, lost: 0 };
    };
    timeouts.handle('refund', { ...EFFECTS, handle });
    await expect(timeouts.sweep.runOnce()).rejects.toThrow('No space left');
    expect(await effects()).toHaveLength(1);
    expect(await store.deadlines()).toMatchObject([{ kind: 'refund' }]);
  });
});
