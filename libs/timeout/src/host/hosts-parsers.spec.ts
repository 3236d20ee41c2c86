import 'reflect-metadata';
import { types } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { systemClock } from '../clock';
import { PostgresDriver } from '../drivers/postgres/postgres.driver';
import { DeadlineHandler, type Due, type HandlesDue, type Tx } from '../public';
import { TimeoutTesting } from '../testing';
import { OwnAlarmTable } from '../testing/own-alarm-table';

const kind = 'trial-end';
const AT = `SELECT '2026-01-01Z'::timestamptz AS at, 7::bigint AS n`;

@DeadlineHandler(kind)
class EndTrials implements HandlesDue {
  readonly ended: Due[] = [];
  readonly read: unknown[] = [];

  async handle(due: readonly Due[], { query, manager }: Tx): Promise<{ changed: number }> {
    this.ended.push(...due);
    this.read.push(...(await query(AT)));
    for (const given of [[AT], [`${AT} WHERE $1`, [true]]] as const) {
      this.read.push(...(await manager.query<unknown[]>(...(given as [string]))));
    }
    return { changed: due.length };
  }
}

describe('a host that has told node-postgres how to read values', () => {
  const { TIMESTAMPTZ, INT8 } = types.builtins;
  const before = [TIMESTAMPTZ, INT8].map((oid) => [oid, types.getTypeParser(oid)] as const);
  let database: TestDatabase;
  let table: OwnAlarmTable;
  beforeAll(async () => {
    [database, table] = await Promise.all([createTestDatabase(), OwnAlarmTable.create()]);
    types.setTypeParser(TIMESTAMPTZ, (text) => text);
    types.setTypeParser(INT8, BigInt);
  });
  afterAll(async () => {
    for (const [oid, parser] of before) types.setTypeParser(oid, parser as never);
    await Promise.all([database?.drop(), table?.drop()]);
  });

  it('has its deadlines handled, and reads them itself as it has told', async () => {
    const t = await TimeoutTesting.create({
      ...{ postgres: { url: database.url }, handlers: [EndTrials] },
    });
    const dueAt = new Date(Date.now() + 60_000);
    await t.arm({ kind, subjectId: 'ann', dueAt });
    expect((await t.find({ kind, subjectId: 'ann' }))?.dueAt).toEqual(dueAt);
    await t.advance('1m');
    const { ended, read } = t.get(EndTrials);
    expect(ended).toEqual([{ kind, subjectId: 'ann', dueAt: expect.any(Date), failures: 0 }]);
    const row = { at: '2026-01-01 00:00:00+00', n: 7n };
    expect(read).toEqual([row, row, row]);
    await t.close();
  });

  it('has alarms in Postgres that ring', async () => {
    const onError = jest.fn();
    const driver = new PostgresDriver({
      ...{ connection: table.connection, queue: 'test', databaseClock: systemClock, onError },
    });
    const alarm = { id: 'one', at: new Date() };
    const rung = new Promise((resolve) => {
      void driver.start((alarms) => Promise.resolve(void resolve(alarms)));
    });
    await driver.arm([alarm]);
    expect([await rung, onError.mock.calls]).toEqual([[alarm], []]);
    await driver.stop();
  });
});
