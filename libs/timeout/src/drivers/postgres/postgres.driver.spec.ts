import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
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
