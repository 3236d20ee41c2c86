import { DeadlineStore, subject } from './testing/deadline-store';
import { HandDriver } from './testing/hand-driver';
import { EFFECTS, handlingOf, KIND, serviceOf } from './testing/service-harness';
import type { TimeoutService } from './timeout.service';
import { inTransaction } from './database/in-transaction';

let store: DeadlineStore;
beforeAll(async () => (store = await DeadlineStore.open()));
afterAll(() => store?.close());
beforeEach(() => store.empty());

const effects = () => store.rows<{ by: string }>('SELECT * FROM effects');

describe('TimeoutService', () => {
  it('wants one handler for each kind', async () => {
    const timeouts = handlingOf(store);
    expect(() => timeouts.handle(KIND, EFFECTS)).toThrow(`Two handlers for deadlines`);
    expect(() => timeouts.handle('other', EFFECTS)).toThrow('not among the kinds');
    await expect(serviceOf(store).assertAllHandled()).rejects.toThrow(
      'No handler for deadlines of kind',
    );
    await expect(timeouts.assertAllHandled()).resolves.toBeUndefined();
  });

  it('tells of kinds of a newer version, and leaves their deadlines alone', async () => {
    const told: (readonly string[])[] = [];
    const timeouts = handlingOf(store, new HandDriver(), {
      unknownKinds: (kinds) => void told.push(kinds),
    });
    await store.add('from-a-newer-version', [-60_000]);
    await store.add('one-more', [60_000]);
    await store.add(KIND, [-1_000]);
    await timeouts.assertAllHandled();
    await timeouts.runSweep();
    expect(told).toEqual([['from-a-newer-version', 'one-more']]);
    const left = (await store.deadlines()).map(({ kind }) => kind);
    expect(left).toEqual(['from-a-newer-version', 'one-more']);
  });

  const arm = (timeouts: TimeoutService, dueAt: Date, isKept = true) =>
    inTransaction(store.dataSource, async (tx) => {
      const deadline = { kind: KIND, subjectId: subject(1), dueAt, version: 1 };
      await timeouts.arm(tx, [deadline, deadline]);
      if (!isKept) throw new Error('rolled back');
    });

  it('arms a deadline and its alarm with the commit, or neither', async () => {
    const driver = new HandDriver();
    const timeouts = handlingOf(store, driver);
    const dueAt = new Date((await store.now()).getTime() + 5_000);
    await expect(arm(timeouts, dueAt, false)).rejects.toThrow('rolled back');
    await timeouts.alarms.settled();
    expect([driver.armed, await store.deadlines()]).toEqual([[], []]);
    await arm(timeouts, dueAt);
    await timeouts.alarms.settled();
    expect([driver.armed.length, (await store.deadlines()).length]).toEqual([1, 1]);
  });

  it('arms although the alarms’ store is away', async () => {
    const driver = new HandDriver();
    driver.isAway = true;
    const timeouts = handlingOf(store, driver);
    await arm(timeouts, new Date());
    await timeouts.alarms.settled();
    expect(await store.deadlines()).toHaveLength(1);
  });

  it('handles what is due when an alarm rings', async () => {
    await store.add(KIND, [-1, 60_000]);
    const driver = new HandDriver();
    const timeouts = handlingOf(store, driver);
    await timeouts.start();
    const at = await store.now();
    expect(await driver.ring([{ id: 'slot-1', at }])).toEqual([]);
    await timeouts.idle();
    expect(await effects()).toMatchObject([{ by: 'timer' }]);
    await timeouts.stop();
  });

  it('asks an alarm that rings early by the database’s clock to ring again, and no other', async () => {
    await store.add(KIND, [-1]);
    const driver = new HandDriver();
    const timeouts = handlingOf(store, driver);
    await timeouts.start();
    const at = new Date((await store.now()).getTime() + 60_000);
    const due = { id: 'slot-0', at: await store.now() };
    const before = await store.now();
    const [again, ...others] = (await driver.ring([due, { id: 'slot-1', at }])) ?? [];
    expect(others).toEqual([]);
    expect(again?.id).toBe('slot-1');
    const after = await store.now();
    expect(again?.inMs).toBeLessThanOrEqual(at.getTime() - before.getTime());
    expect(again?.inMs).toBeGreaterThanOrEqual(at.getTime() - after.getTime());
    await timeouts.idle();
    expect(await effects()).toHaveLength(1);
    await timeouts.stop();
  });

  it('handles in the background what was just made due', async () => {
    await store.add(KIND, [-1]);
    const timeouts = handlingOf(store);
    timeouts.nudge(KIND);
    await timeouts.idle();
    expect(await effects()).toHaveLength(1);
    expect(() => timeouts.nudge('nobody')).toThrow('No handler');
  });
});
