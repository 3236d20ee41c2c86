import { FaultyProxy } from '../../../../../test/faults/proxy';
import { timed } from '../../testing/awake-time';
import { OwnAlarmTable } from '../../testing/own-alarm-table';
import type { Alarm } from '../../timer-driver';
import { alarmIn, Bench, type DriverUnderTest, surveyed } from '../driver-bench';
import { describeTimerDriver } from '../driver.contract';
import { POSTGRES_ABILITIES } from './postgres.abilities';
import { PostgresDriver } from './postgres.driver';

let table: OwnAlarmTable;
let proxy: FaultyProxy;
beforeAll(async () => {
  table = await OwnAlarmTable.create();
  proxy = await FaultyProxy.to(Number(new URL(table.url).port));
});
afterAll(async () => {
  await proxy?.close();
  await table?.drop();
});

const subject: DriverUnderTest = {
  create: ({ namespace: queue, ...wish }) =>
    new PostgresDriver({
      ...wish,
      queue,
      connection: { ...table.connection, connectionString: proxy.through(table.url) },
    }),
  abilities: POSTGRES_ABILITIES,
  store: () => ({
    kill: () => proxy.refuse(),
    start: () => proxy.restore(),
    freeze: () => proxy.pause(),
    thaw: () => proxy.resume(),
    connections: () => table.connections(),
    flush: () => table.empty(),
  }),
};

describeTimerDriver('PostgresDriver', subject);

describe('PostgresDriver whose table was all but empty when Postgres last looked', () => {
  let misjudged: OwnAlarmTable;
  beforeAll(async () => {
    misjudged = await OwnAlarmTable.create();
    await misjudged.lookedAtWhileEmpty();
  });
  afterAll(() => misjudged?.drop());

  let bench: Bench;
  beforeEach(() => {
    bench = new Bench({
      ...subject,
      create: ({ namespace: queue, ...wish }) =>
        new PostgresDriver({ ...wish, queue, connection: misjudged.connection }),
    });
  });
  afterEach(() => bench.close());

  const dueIn = (ms: number, count: number): Alarm[] =>
    Array.from({ length: count }, (_, index) => alarmIn(ms + index / 100));

  // A plan whose work grows with the square of them takes longer than a call may.
  it('disarms ten thousand alarms', async () => {
    const driver = bench.open();
    const alarms = dueIn(3_600_000, 10_000);
    await driver.arm(alarms);
    await driver.disarm(alarms.map(({ id }) => id));
    expect((await surveyed(driver)).size).toBe(0);
  });

  it('rings sixty thousand that are due at once', async () => {
    const driver = bench.open();
    const alarms = dueIn(-1_000, 60_000);
    await driver.arm(alarms);
    const rung = new Set<string>();
    await new Promise<void>((resolve) => {
      void driver.start(async (some) => {
        for (const { id } of some) rung.add(id);
        if (rung.size === alarms.length) resolve();
      });
    });
    expect(rung.size).toBe(alarms.length);
  });
});

describe('PostgresDriver behind a pooler that lets no notification through', () => {
  it('rings what other processes arm all the same', async () => {
    const bench = new Bench({
      ...subject,
      create: ({ namespace: queue, ...wish }) =>
        new PostgresDriver({ ...wish, queue, connection: table.connection, listen: false }),
    });
    const [armer, ringer] = [bench.open(), bench.open()];
    await ringer.start(bench.onRing());
    const inMs = 50;
    const { tookMs } = await timed(async () => {
      const alarm = alarmIn(inMs);
      const ring = bench.ringOf(alarm.id);
      await armer.arm([alarm]);
      await ring;
    });
    expect(tookMs).toBeLessThan(inMs + POSTGRES_ABILITIES.precisionMs + 1_000);
    await bench.close();
  });
});
