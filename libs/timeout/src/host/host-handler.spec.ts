import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { Client } from 'pg';
import { until } from '../../../../test/support/until';
import { runtimeToken, type TimeoutRuntime } from '../module';
import { DeadlineHandler, type Due, type HandlesDue, type Tx } from '../public';
import { silentTelemetry } from '../telemetry';
import { queryRows } from '../database/query-rows';
import { hostApps } from '../../../../test/support/host-apps';

const MANY = 200;

/** Leaves to `afterCommit` what fails: a call that throws, and one that is refused later. */
@DeadlineHandler('trial-end', { maxBatch: 50 })
class EndTrials implements HandlesDue {
  readonly sizes: number[] = [];

  handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
    this.sizes.push(due.length);
    tx.afterCommit(() => {
      throw new Error('statsd is away');
    });
    tx.afterCommit(() => Promise.reject(new Error('mail is away')));
    return Promise.resolve({ changed: due.length });
  }
}

/** What tenants are told apart by, and whatever else a host may think of; each three times, so that connections come again. */
const SETTINGS = [
  'SET search_path = pg_temp',
  `SELECT set_config('search_path', 'nowhere', false)`,
  'SET ROLE pg_monitor',
  'SET DateStyle = German',
  `SET statement_timeout = '1min'`,
  'SET default_transaction_read_only = on',
].flatMap((one) => [one, `${one};`, `${one};;`]);

/** Each subject is a statement for it to run. */
@DeadlineHandler('tenant')
class SetsItsSession implements HandlesDue {
  readonly seen: string[] = [];
  /** How long a statement might take in the sessions it was given. */
  readonly limits = new Set<unknown>();

  async handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
    const [row] = await tx.query<{ limit: string }>(
      `SELECT current_setting('statement_timeout') AS limit`,
    );
    this.limits.add(row?.limit);
    for (const { subjectId } of due) await tx.query(subjectId);
    this.seen.push(...due.map(({ subjectId }) => subjectId));
    return { changed: due.length };
  }
}

const HOLD = 'SELECT FROM lastcall.timeout_subjects WHERE subject = $1 FOR UPDATE';

describe('a handler of a host', () => {
  const apps = hostApps();
  const told: string[] = [];
  const telemetry = {
    ...silentTelemetry,
    failed: (what: string, error: unknown) => void told.push(`${what}: ${String(error)}`),
    batchFailed: (kind: string) => void told.push(`a batch of ${kind} failed`),
  };

  const start = (handler: Type, given: object = { telemetry }): Promise<TestingModule> =>
    apps.start([handler], given);
  /** Long due. */
  const arm = async (module: TestingModule, kind: string, subjects: string[]): Promise<void> => {
    const { timeouts } = module.get<TimeoutRuntime>(runtimeToken('default'));
    await apps.beside((arming) =>
      timeouts.arm(
        { query: (sql, params) => queryRows(arming, sql, params) },
        subjects.map((subjectId) => ({ kind, subjectId, dueAt: new Date(0) })),
      ),
    );
  };
  beforeEach(() => void (told.length = 0));

  it('has handled what is committed, whatever its hooks do after that', async () => {
    const module = await start(EndTrials);
    const { timeouts, service } = module.get<TimeoutRuntime>(runtimeToken('default'));
    const subjects = Array.from({ length: MANY }, (_, n) => `trial/${n}`);
    await arm(module, 'trial-end', subjects);
    await module.init();
    const handler = module.get(EndTrials);
    const sum = (): number => handler.sizes.reduce((all, size) => all + size, 0);
    await until('all are handled', () => sum() >= MANY);
    await service.idle();
    expect(sum()).toBe(MANY);
    expect(handler.sizes.length).toBe(MANY / 50);
    expect(await timeouts.list({ kind: 'trial-end' })).toEqual([]);
    const hook = 'afterCommit of @DeadlineHandler("trial-end")';
    const both = [`${hook}: Error: mail is away`, `${hook}: Error: statsd is away`];
    await until('each is told of', () => told.length === (2 * MANY) / 50);
    expect([...new Set(told)].sort()).toEqual(both);
  });

  it.each([
    ['nothing', undefined],
    ['a number', 1],
    ['rows that nobody counted', { changed: undefined }],
    ['a text', { changed: '1' }],
    ['less than none', { changed: -1 }],
  ])('that answers %s is told what to answer', async (kind, answer) => {
    @DeadlineHandler(kind)
    class Answering {
      handle = () => Promise.resolve(answer as { changed: number });
    }
    const errors: unknown[] = [];
    const batchFailed = (_kind: string, _size: number, error: unknown) => void errors.push(error);
    const module = await start(Answering, { telemetry: { failed: () => undefined, batchFailed } });
    await arm(module, kind, ['one']);
    await module.init();
    const [error] = await until('it has failed', () => (errors.length > 0 ? errors : undefined));
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toBe(
      `\`handle\` of @DeadlineHandler("${kind}") must return { changed }: how many of its subjects it changed, 0 or more`,
    );
  });

  it('leaves those who have its connection next as they were, whatever it sets for the session', async () => {
    const module = await start(SetsItsSession);
    await module.init();
    const runtime = module.get<TimeoutRuntime>(runtimeToken('default'));
    const { seen, limits } = module.get(SetsItsSession);
    for (const [nth, statement] of SETTINGS.entries()) {
      const dueAt = new Date();
      await runtime.inHostTransaction((tx) =>
        runtime.timeouts.arm(tx, { kind: 'tenant', subjectId: statement, dueAt }),
      );
      await until('it is handled', () => Promise.resolve(seen.length > nth));
      await runtime.service.idle();
    }
    expect(seen).toEqual(SETTINGS);
    expect([...limits]).toEqual(['15s']);
    expect(told).toEqual([]);
  });

  it.each(['SET LOCAL ROLE pg_monitor', 'SET ROLE pg_monitor'])(
    'leaves what follows in its transaction as it was, whatever it sets there: %s',
    async (statement) => {
      const module = await start(SetsItsSession);
      const held = 'SELECT 2';
      await arm(module, 'tenant', [statement, held]);
      const { service } = module.get<TimeoutRuntime>(runtimeToken('default'));
      const { seen } = module.get(SetsItsSession);
      const holder = new Client({ connectionString: apps.url() });
      await holder.connect();
      try {
        await holder.query('BEGIN');
        await holder.query(HOLD, [held]);
        await module.init();
        await until('the other is handled', () => Promise.resolve(seen.length > 0));
        await service.idle();
        // Put back behind the handler, by the same transaction.
        expect(seen).toEqual([statement]);
        expect(told).toEqual([]);
      } finally {
        await holder.end();
      }
      await until('this one is handled', () => Promise.resolve(seen.length > 1));
      await service.idle();
      expect(seen).toEqual([statement, held]);
    },
  );

  it.each([
    'ROLLBACK',
    ' commit;',
    'END',
    'ROLLBACK WORK',
    'ABORT',
    '/* done */ -- now\nCOMMIT',
    'SELECT 1; COMMIT',
    '; COMMIT',
    '/* /* in one */ another */ COMMIT',
  ])(
    'may not end its transaction by %j, and does what it says in another way',
    async (statement) => {
      const module = await start(SetsItsSession);
      await module.init();
      const runtime = module.get<TimeoutRuntime>(runtimeToken('default'));
      const run = (by: (tx: Tx) => Promise<unknown>) => runtime.inHostTransaction(by);
      const refused = { code: 'transaction_is_lent' };
      await expect(run((tx) => tx.query(statement))).rejects.toMatchObject(refused);
      await expect(run((tx) => tx.manager.query(statement))).rejects.toMatchObject(refused);
      await run(async (tx) => {
        await tx.query('SAVEPOINT mine');
        await tx.query('ROLLBACK TO SAVEPOINT mine');
        await tx.manager.transaction((inner) => inner.query('SELECT 1'));
        const undone = tx.manager.transaction(() => Promise.reject(new Error('undo')));
        await expect(undone).rejects.toThrow('undo');
        const [named, several] = [`SELECT '; COMMIT' AS said`, `SELECT 1; SELECT 2`];
        expect(await tx.query(named)).toEqual([{ said: '; COMMIT' }]);
        expect(await tx.manager.query(named)).toEqual([{ said: '; COMMIT' }]);
        await tx.query(`DO $$ BEGIN PERFORM 1; END $$`);
        await tx.manager.query(several);
      });
    },
  );

  it.each(['COMMIT', 'SELECT 1; COMMIT'])('that says %j fails by the usual rules', async (says) => {
    const module = await start(SetsItsSession);
    await module.init();
    const runtime = module.get<TimeoutRuntime>(runtimeToken('default'));
    const dueAt = new Date();
    await runtime.inHostTransaction((tx) =>
      runtime.timeouts.arm(
        tx,
        [says, 'SELECT 1'].map((subjectId) => ({ kind: 'tenant', subjectId, dueAt })),
      ),
    );
    const { seen } = module.get(SetsItsSession);
    await until('the other is handled', () => Promise.resolve(seen.includes('SELECT 1')));
    await runtime.service.idle();
    const left = await runtime.timeouts.list({ kind: 'tenant' });
    expect(left.map(({ subjectId }) => subjectId)).toEqual([says]);
    await runtime.inHostTransaction((tx) => runtime.timeouts.cancel(tx, left));
  });
});
