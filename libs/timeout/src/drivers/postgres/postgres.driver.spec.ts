import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { untilLocksAreWaitedFor } from '../../../../../test/support/lock-waits';
import { systemClock } from '../../clock';
import { OwnAlarmTable } from '../../testing/own-alarm-table';
import { describeTimerDriver } from '../driver.contract';
import { AlarmTable } from './alarm-table';
import { POSTGRES_ABILITIES } from './postgres.abilities';
import { PostgresDriver } from './postgres.driver';

let table: OwnAlarmTable;
beforeAll(async () => (table = await OwnAlarmTable.create()));
afterAll(() => table?.drop());

describeTimerDriver(
  'PostgresDriver',
  {
    create: ({ namespace: queue, ...wish }) =>
      new PostgresDriver({ ...wish, queue, connection: table.connection }),
    abilities: POSTGRES_ABILITIES,
  },
  'essentials',
);

describe('PostgresDriver', () => {
  const open = (queue: string): PostgresDriver =>
    new PostgresDriver({
      connection: table.connection,
      databaseClock: systemClock,
      queue,
      onError: (error) => {
        throw error;
      },
    });

  it('rings again what a process took that died in its ring', async () => {
    const pool = new Pool(table.connection);
    const dying = new AlarmTable(pool, 'lease', 150);
    const alarm = { id: 'alarm-1', at: new Date() };
    await dying.arm([alarm]);
    expect(await dying.take(Date.now(), 10, randomUUID())).toEqual([alarm]);
    await pool.end();
    const driver = open('lease');
    const rung = new Promise((resolve) => {
      void driver.start(async (alarms) => void resolve([Date.now() - alarm.at.getTime(), alarms]));
    });
    expect(await rung).toEqual([expect.any(Number), [alarm]]);
    const [lateByMs] = (await rung) as [number];
    expect(lateByMs).toBeGreaterThanOrEqual(150);
    await driver.stop();
  });

  it('puts back in the order in which others arm, so that they wait in no circle', async () => {
    const pool = new Pool(table.connection);
    const alarms = new AlarmTable(pool, 'circle', 30_000);
    const [at, later] = [new Date(), Date.now() + 60_000];
    // So they lie in the table, and are put back: the last one first.
    for (const id of ['b', 'a']) await alarms.arm([{ id, at }]);
    const lease = randomUUID();
    await alarms.take(at.getTime(), 10, lease);
    const holder = await pool.connect();
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM alarms WHERE queue = 'circle' AND id = 'a' FOR UPDATE`);
    const waiting = (count: number) => untilLocksAreWaitedFor(pool, count);
    const arming = alarms.arm([
      { id: 'a', at: new Date(later) },
      { id: 'b', at: new Date(later) },
    ]);
    await waiting(1);
    const puttingBack = alarms.putBack(['b', 'a'], [0, 0], lease);
    await waiting(2);
    await holder.query('COMMIT');
    holder.release();
    await Promise.all([arming, puttingBack]);
    // Whoever armed them anew meanwhile has said when.
    expect(await alarms.head()).toBe(later);
    await pool.end();
  });

  it('puts each alarm back to its own instant', async () => {
    const pool = new Pool(table.connection);
    const alarms = new AlarmTable(pool, 'own instants', 30_000);
    const [at, lease] = [new Date(), randomUUID()];
    await alarms.arm(['a', 'b', 'c'].map((id) => ({ id, at })));
    await alarms.take(at.getTime(), 10, lease);
    const [first, second] = [at.getTime() + 1_000, at.getTime() + 2_000];
    await alarms.putBack(['c', 'a'], [second, first], lease);
    expect(await alarms.take(first, 10, lease)).toEqual([{ id: 'a', at }]);
    expect(await alarms.head()).toBe(second);
    await pool.end();
  });

  it('is told of a new head, and of no other alarm', async () => {
    const heard = await table.notifications(async () => {
      const driver = open('heads');
      const inMs = (ms: number) => [{ id: `alarm-${ms}`, at: new Date(Date.now() + ms) }];
      for (const ms of [60_000, 70_000, 80_000, 50_000, 55_000]) await driver.arm(inMs(ms));
      await driver.stop();
    });
    expect(heard).toEqual(['heads', 'heads']);
  });
});
