import type { DataSource, QueryRunner } from 'typeorm';
import { until } from '../../../../test/support/until';
import { Brake } from '../brake/brake';
import { DatabaseClock } from '../database/database-clock';
import type { DeadlineHandler } from '../deadlines/deadline-handler';
import { Drain } from './drain';
import { drainDefaults } from './drain-options';
import type { Lock } from '../lock';
import { NoopLock } from '../locks/noop.lock';
import { LowWater } from '../deadlines/low-water';
import { SlotWatch } from './slot-watch';
import { silentTelemetry } from '../telemetry';
import { DeadlineStore, subject } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { HandDriver } from '../testing/hand-driver';
import { TimeoutService } from '../timeout.service';

const KIND = 'payment';

describe('A slot that has rung', () => {
  let store: DeadlineStore;
  let driver: HandDriver;
  /** How often it was looked. */
  let looks: number;
  let drain: Drain | undefined;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(async () => {
    await store.empty();
    [driver, looks] = [new HandDriver(), 0];
  });
  afterEach(async () => {
    drain?.stop();
    await drain?.idle();
  });

  interface Given {
    readonly lock?: Lock;
    readonly brake?: Brake;
  }

  /** Rings a slot that ends in so many milliseconds. */
  async function ring(
    handler: DeadlineHandler,
    endsInMs: number,
    given: Given = {},
    /** So far ahead of it is what this process takes for the database's clock. */
    aheadMs = 0,
  ): Promise<Drain> {
    // Each look is a transaction of its own, on a connection that is taken for it.
    const createQueryRunner = (): QueryRunner => {
      looks += 1;
      return store.dataSource.createQueryRunner();
    };
    const dataSource = Object.create(store.dataSource, {
      createQueryRunner: { value: createQueryRunner },
    }) as DataSource;
    const parts = {
      ...drainParts(dataSource, KIND, { driver, ...given }),
      clock: { nowMs: () => Date.now() + aheadMs, freshen: async () => undefined },
    };
    drain = new Drain(KIND, handler, parts, { ...drainDefaults, drainers: 1 });
    drain.signal('timer', 0, (await store.now()).getTime() + endsInMs);
    return drain;
  }

  const dueMs = async (): Promise<number[]> =>
    (await store.deadlines()).map(({ due_at: dueAt }) => dueAt.getTime());
  const handled = (handler: Effects, count: number) =>
    until('all are handled', () => Promise.resolve(handler.batches.flat().length >= count));

  /**
   * Rings where one is due, and others so much later. A machine that stands still meanwhile finds all at once:
   * then they are apart for twice as long.
   */
  async function ringApart(
    laterMs: readonly number[],
    create: () => Given & { readonly handler: Effects },
  ): Promise<{ one: Drain; handler: Effects; due: readonly number[] }> {
    for (let times = 1; ; times *= 2) {
      const { handler, ...given } = create();
      await store.add(KIND, [-1, ...laterMs.map((ms) => times * ms)]);
      const due = await dueMs();
      const one = await ring(handler, 60_000, given);
      await handled(handler, 1);
      if (handler.batches[0]?.length === 1) return { one, handler, due };
      one.stop();
      await one.idle();
      await store.empty();
      looks = 0;
    }
  }

  it('has all that comes due in it handled, each when it is due, by a look for each set', async () => {
    const create = () => ({ handler: new Effects(500) });
    const { handler, due } = await ringApart([150, 152, 300], create);
    await handled(handler, 4);
    const { batches } = handler;
    expect(batches.flat()).toEqual([0, 1, 2, 3].map((nth) => subject(nth)));
    expect((await store.now()).getTime()).toBeGreaterThanOrEqual(due[3] as number);
    // None has to look for one more than twice.
    expect(looks).toBeGreaterThan(1);
    expect(looks).toBeLessThanOrEqual(8);
  });

  it('leaves what is due behind its end to the ring of the next', async () => {
    await store.add(KIND, [-1, 60_000]);
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const handler = new Effects(500);
    const one = await ring(handler, 30_000);
    await handled(handler, 1);
    await one.idle();
    expect(handler.batches).toEqual([[subject(0)]]);
    const longMs = timers.mock.calls.map(([, delayMs]) => delayMs ?? 0).filter((ms) => ms > 25_000);
    expect(longMs).toEqual([]);
    timers.mockRestore();
  });

  /** How often it was looked when all is past that was armed. */
  async function looksInTheEnd(one: Drain): Promise<number> {
    const endMs = Math.max(...(await dueMs()));
    await until('all is past', async () => (await store.now()).getTime() > endMs + 100);
    await one.idle();
    return looks;
  }

  it('is not looked for again and again while an operator has to look first', async () => {
    const engage = `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('by hand', 'payment', 1, 1)`;
    const { one, handler } = await ringApart([150, 152], () => ({
      handler: new Effects(500, (_, tx) => tx.rows(engage)),
      brake: new Brake(store.dataSource, { kinds: [KIND], share: 0.2 }),
    }));
    // The brake's judgement before the first claim, that claim, and the look that finds the brake on.
    expect(await looksInTheEnd(one)).toBeLessThanOrEqual(4);
    expect(handler.batches.flat()).toEqual([subject(0)]);
  });

  it('is not looked for again and again while the handler fails for all', async () => {
    await store.add(KIND, [...Array<number>(30).fill(-1), 150, 152]);
    const one = await ring(new Effects(500, () => Promise.reject(new TypeError('a bug'))), 60_000);
    await until('the kind stands still', () => one.standsStill);
    const standing = looks;
    // Its probes, of which there is one a second at first.
    expect((await looksInTheEnd(one)) - standing).toBeLessThanOrEqual(3);
  });

  /** Somebody holds the first key that is asked for, once. */
  function holdingTheFirst(): Lock {
    let isFirst = true;
    const release = async (): Promise<void> => undefined;
    return {
      acquireFree: async (keys) => {
        const free = isFirst ? keys.slice(1) : keys;
        isFirst = false;
        return { keys: new Set(free), outcome: 'contended', release };
      },
      acquireOne: () => Promise.reject(new Error('batches wait for nobody')),
      close: release,
    };
  }

  it('looks itself for what it has put back, and has nobody ring for it', async () => {
    await store.add(KIND, [-2, -1]);
    const handler = new Effects(500);
    const one = await ring(handler, 60_000, { lock: holdingTheFirst() });
    await handled(handler, 2);
    await one.idle();
    expect(handler.batches.flat()).toEqual([subject(1), subject(0)]);
    expect(driver.armed).toEqual([]);
    expect(looks).toBeLessThanOrEqual(3);
  });

  it('rings once more where its process ends before, and not where nothing is left', async () => {
    await store.add(KIND, [-1, 20_000]);
    const handler = new Effects(500);
    const one = await ring(handler, 30_000);
    await handled(handler, 1);
    await one.idle();
    one.stop();
    await until('the rest is armed', () => driver.armed.length > 0);
    const inMs = (driver.armed[0]?.at.getTime() ?? 0) - (await store.now()).getTime();
    expect(inMs).toBeGreaterThan(20_000);
    expect(inMs).toBeLessThan(30_000);
    driver.armed.splice(0);
    await store.empty();
    const other = await ring(handler, 60_000);
    await other.run('timer');
    other.stop();
    expect(driver.armed).toEqual([]);
  });

  it('rings once more where its process ends amid a look, of which nobody knows what it finds', async () => {
    await store.add(KIND, [20_000]);
    const one = await ring(new Effects(500), 30_000);
    one.stop();
    await one.idle();
    await until('the slot is armed', () => driver.armed.length > 0);
  });

  it('has what it has put back found where this process takes the database’s clock for earlier', async () => {
    const parts = { lock: holdingTheFirst() };
    await store.add(KIND, [-2, -1]);
    const handler = new Effects(500);
    const one = await ring(handler, 60_000, parts, -400);
    await handled(handler, 2);
    await one.idle();
    expect(handler.batches.flat()).toEqual([subject(1), subject(0)]);
  });

  it('is not watched for what is due behind its end, nor once its process ends', () => {
    const watch = new SlotWatch(() => undefined, { nowMs: () => 0 }, new LowWater());
    watch.extend(100);
    expect([100, 101].map((ms) => watch.expects(new Date(ms)))).toEqual([true, false]);
    watch.stop();
    expect(watch.expects(new Date(100))).toBe(false);
  });
});

describe('A process that hears slots', () => {
  let store: DeadlineStore;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());

  it('watches each to its end, and leaves it to others once it stops', async () => {
    const driver = new HandDriver();
    const { dataSource } = store;
    const clock = new DatabaseClock(dataSource);
    const parts = { dataSource, drainDataSource: dataSource, clock, telemetry: silentTelemetry };
    const timeouts = new TimeoutService(
      { ...parts, driver, lock: new NoopLock() },
      {
        ...{ kinds: [KIND], granularity: 60_000, horizonMs: 60_000 },
        sweep: { intervalMs: 10_000, unhealthyIntervalMs: 1_000, leaveToTimerMs: 0 },
      },
    );
    const handler = new Effects();
    timeouts.handle(KIND, handler);
    await timeouts.start();
    await store.add(KIND, [150, 152, 62_000]);
    const due = (await store.deadlines()).map(({ due_at: dueAt }) => dueAt.getTime());
    const alarm = { id: 'slot', at: new Date((await store.now()).getTime() - 1_000) };
    expect(await driver.ring([alarm])).toEqual([]);
    await until('those of the slot are handled', () => handler.batches.flat().length === 2);
    expect((await store.now()).getTime()).toBeGreaterThanOrEqual(due[1] as number);
    await timeouts.idle();
    expect(await store.deadlines()).toHaveLength(1);
    await timeouts.stop();
    expect(await driver.ring([alarm])).toEqual([{ id: 'slot', inMs: 100 }]);
  });
});
