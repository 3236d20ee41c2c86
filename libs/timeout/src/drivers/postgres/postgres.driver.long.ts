import { FaultyProxy } from '../../../../../test/faults/proxy';
import { timed } from '../../testing/awake-time';
import { OwnAlarmTable } from '../../testing/own-alarm-table';
import { alarmIn, Bench, type DriverUnderTest } from '../driver-bench';
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
