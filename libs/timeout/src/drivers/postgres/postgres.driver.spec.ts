import { randomUUID } from 'node:crypto';
import { Pool } from 'pg';
import { untilLocksAreWaitedFor } from '../../../../../test/support/lock-waits';
import { systemClock } from '../../clock';
import { OwnAlarmTable } from '../../testing/own-alarm-table';
import { describeTimerDriver } from '../driver.contract';
import { AlarmTable, headNoticeOf } from './alarm-table';
import { HeadMark } from './head-mark';
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
    const dying = new AlarmTable(pool, 'lease', 150, new HeadMark(systemClock));
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
    const alarms = new AlarmTable(pool, 'circle', 30_000, new HeadMark(systemClock));
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
    const puttingBack = alarms.putBack(
      ['b', 'a'].map((id) => ({ id, at: new Date(0) })),
      lease,
    );
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
    const alarms = new AlarmTable(pool, 'own instants', 30_000, new HeadMark(systemClock));
    const [at, lease] = [new Date(), randomUUID()];
    await alarms.arm(['a', 'b', 'c'].map((id) => ({ id, at })));
    await alarms.take(at.getTime(), 10, lease);
    const [first, second] = [at.getTime() + 1_000, at.getTime() + 2_000];
    await alarms.putBack(
      [
        { id: 'c', at: new Date(second) },
        { id: 'a', at: new Date(first) },
      ],
      lease,
    );
    expect(await alarms.take(first, 10, lease)).toEqual([{ id: 'a', at }]);
    expect(await alarms.head()).toBe(second);
    await pool.end();
  });

  it('finds the first alarm of another process that it has not heard of', async () => {
    const pool = new Pool(table.connection);
    let elapsedMs = 0;
    const nowMs = Date.now();
    const clock = { nowMs: () => nowMs };
    const [here, there] = [() => elapsedMs, () => 0].map(
      (elapsed) => new AlarmTable(pool, 'unheard', 30_000, new HeadMark(clock, elapsed)),
    ) as [AlarmTable, AlarmTable];
    const [later, soon, long] = [60_000, 1_000, -60_000].map((ms) => new Date(nowMs + ms));
    const heads = async (at: Date | undefined): Promise<number[]> => {
      await there.arm([{ id: `alarm-${at?.getTime()}`, at: at as Date }]);
      const seen = [await here.head()];
      elapsedMs += 100;
      return [...seen, await here.head()];
    };
    await heads(later);
    expect(await heads(soon)).toEqual([later, soon].map((at) => at?.getTime()));
    expect(await heads(long)).toEqual([soon, soon].map((at) => at?.getTime()));
    elapsedMs += 30_000;
    expect(await here.head()).toBe(long?.getTime());
    await pool.end();
  });

  it('is told of a new head, and of no other alarm', async () => {
    const heard = await table.notifications(async () => {
      const driver = open('heads');
      const inMs = (ms: number) => [{ id: `alarm-${ms}`, at: new Date(Date.now() + ms) }];
      for (const ms of [60_000, 70_000, 80_000, 50_000, 55_000]) await driver.arm(inMs(ms));
      await driver.stop();
    });
    expect(heard.map((payload) => headNoticeOf(payload).queue)).toEqual(['heads', 'heads']);
  });
});

describe('AlarmTable with an old snapshot open', () => {
  const COME_AND_GONE = 50_000;
  const APART_MS = 10;
  const AT_ONCE = 1_000;

  it('reads nothing of what is gone', async () => {
    const [old, pool] = [new Pool(table.connection), new Pool({ ...table.connection, max: 1 })];
    const snapshot = await old.connect();
    // It comes when it likes; what it does to the statements is asked for below.
    await pool.query('ALTER TABLE alarms SET (autovacuum_enabled = false)');
    await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await snapshot.query('SELECT count(*) FROM alarms');
    let nowMs = Date.now();
    const open = () =>
      new AlarmTable(pool, 'snapshot', 30_000, new HeadMark({ nowMs: () => nowMs }, () => nowMs));
    const alarms = open();
    const lease = randomUUID();
    const comeAndGo = async (count: number, armed = alarms): Promise<void> => {
      const at = (n: number) => new Date(nowMs + n * APART_MS);
      await armed.arm(
        Array.from({ length: count }, (_, n) => ({ id: `alarm-${at(n).getTime()}`, at: at(n) })),
      );
      nowMs += count * APART_MS;
      for (let gone = 0; gone < count;) {
        await armed.head();
        const taken = await armed.take(nowMs, 500, lease);
        gone += taken.length;
        await armed.forget(
          taken.map(({ id }) => id),
          lease,
        );
      }
    };
    const blocksRead = async (): Promise<number> => {
      const { rows } = await pool.query<{ n: number }>(
        `SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::int AS n FROM pg_class
          WHERE oid = 'alarms'::regclass
             OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'alarms'::regclass)`,
      );
      return rows[0]?.n ?? NaN;
    };
    /** To arm one alarm, find it the first, ring it and forget it; and to look for one that is gone. */
    const blocksOfOne = async (armed = alarms): Promise<number> => {
      // It may be this one's turn to look at everything, and the next one's to look again.
      await comeAndGo(1);
      nowMs += 100;
      await pool.query('BEGIN');
      const before = await blocksRead();
      await comeAndGo(1, armed);
      await armed.disarm(['alarm-1']);
      await armed.putBack([{ id: 'alarm-1', at: new Date(nowMs) }], lease);
      const blocks = (await blocksRead()) - before;
      await pool.query('ROLLBACK');
      return blocks;
    };
    try {
      // So many that the instants that were given to leases have passed.
      for (let n = 0; n < COME_AND_GONE / 10; n += AT_ONCE) await comeAndGo(AT_ONCE);
      const before = await blocksOfOne();
      for (let n = 0; n < COME_AND_GONE; n += AT_ONCE) await comeAndGo(AT_ONCE);
      const after = await blocksOfOne();
      const all = await blocksOfOne(open());
      // Now Postgres knows that the queue is all but empty.
      await pool.query('ANALYZE alarms');
      const counted = await blocksOfOne();
      expect(after).toBeLessThan(1.5 * before);
      expect(counted).toBeLessThan(1.5 * before);
      // What it would be otherwise: else the test shows nothing.
      expect(all).toBeGreaterThan(5 * before);
    } finally {
      await snapshot.query('ROLLBACK');
      snapshot.release();
      await Promise.all([old.end(), pool.end()]);
    }
  });
});
