import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { systemClock } from '../../clock';
import { OwnAlarmTable } from '../../testing/own-alarm-table';
import type { Alarm } from '../../timer-driver';
import { AlarmTable } from './alarm-table';
import { HeadMark } from './head-mark';

let table: OwnAlarmTable;
let pool: Pool;
beforeAll(async () => {
  table = await OwnAlarmTable.create();
  pool = new Pool(table.connection);
  await pool.query(
    `ALTER TABLE alarms RENAME TO whole;
     CREATE TABLE alarms (LIKE whole, PRIMARY KEY (queue, id)) PARTITION BY HASH (id)`,
  );
  for (const part of [0, 1, 2]) {
    await pool.query(
      `CREATE TABLE alarms_${part} PARTITION OF alarms FOR VALUES WITH (MODULUS 3, REMAINDER ${part})`,
    );
  }
});
afterAll(async () => {
  await pool?.end();
  await table?.drop();
});

const COUNT = 60;

/** How many there are of each queue, and how many of them are leased. */
const counted = async (): Promise<unknown> => {
  const { rows } = await pool.query(
    `SELECT queue, count(*)::int AS there, count(lease)::int AS leased
       FROM alarms GROUP BY queue ORDER BY queue`,
  );
  return rows;
};

it('changes nothing that lies in the same place of another partition', async () => {
  const [at, lease] = [new Date(), randomUUID()];
  const idsOf = (alarms: readonly Alarm[]) => alarms.map(({ id }) => id);
  const open = async (queue: string) => {
    const alarms = new AlarmTable(pool, queue, 30_000, new HeadMark(systemClock));
    await alarms.arm(Array.from({ length: COUNT }, (_, n) => ({ id: `${queue} ${n}`, at })));
    return alarms;
  };
  const [mine] = [await open('mine'), await open('other')];
  const others = { queue: 'other', there: COUNT, leased: 0 };

  const taken = await mine.take(at.getTime(), 10, lease);
  expect(idsOf(taken).filter((id) => id.startsWith('mine'))).toHaveLength(10);
  expect(await counted()).toEqual([{ queue: 'mine', there: COUNT, leased: 10 }, others]);

  await mine.putBack(taken.slice(0, 5), lease);
  expect(await counted()).toEqual([{ queue: 'mine', there: COUNT, leased: 5 }, others]);

  await mine.forget(idsOf(taken.slice(5)), lease);
  expect(await counted()).toEqual([{ queue: 'mine', there: COUNT - 5, leased: 0 }, others]);

  await mine.disarm(idsOf(taken.slice(0, 5)));
  expect(await counted()).toEqual([{ queue: 'mine', there: COUNT - 10, leased: 0 }, others]);
});
