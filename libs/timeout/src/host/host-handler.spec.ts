import 'reflect-metadata';
import { Logger, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { runtimeToken, type TimeoutRuntime } from '../module';
import {
  AmbiguousDeadlineHandlerError,
  DeadlineHandler,
  type Due,
  type HandlesDue,
  TimeoutModule,
  type Tx,
} from '../public';
import { silentTelemetry } from '../telemetry';
import { queryRows } from '../query-rows';
import { findPlace } from './connections';
import { migratePlace } from './migrate-timeouts';

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
  `SET statement_timeout = '1ms'`,
  'SET default_transaction_read_only = on',
].flatMap((one) => [one, `${one};`, `${one};;`]);

/** Each subject is a statement for it to run. */
@DeadlineHandler('tenant')
class SetsItsSession implements HandlesDue {
  readonly seen: string[] = [];

  async handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
    for (const { subjectId } of due) await tx.query(subjectId);
    this.seen.push(...due.map(({ subjectId }) => subjectId));
    return { changed: due.length };
  }
}

const HOLD = 'SELECT FROM lastcall.timeout_subjects WHERE subject = $1 FOR UPDATE';

describe('a handler of a host', () => {
  let database: TestDatabase;
  const open: TestingModule[] = [];
  const told: string[] = [];
  const telemetry = {
    ...silentTelemetry,
    failed: (what: string, error: unknown) => void told.push(`${what}: ${String(error)}`),
    batchFailed: (kind: string) => void told.push(`a batch of ${kind} failed`),
  };

  const start = async (
    handler: Type,
    given: object = { telemetry },
    beside: Type[] = [],
  ): Promise<TestingModule> => {
    const module = await Test.createTestingModule({
      imports: [
        TimeoutModule.forRoot({ postgres: { url: database.url }, driver: 'memory', ...given }),
      ],
      providers: [handler, ...beside],
    })
      .setLogger(false as never)
      .compile();
    open.push(module);
    return module;
  };
  /** Long due. */
  const arm = async (module: TestingModule, kind: string, subjects: string[]): Promise<void> => {
    const { timeouts } = module.get<TimeoutRuntime>(runtimeToken('default'));
    const place = await findPlace({ url: database.url }, 'lastcall');
    const arming = await place.open({ name: 'test', connections: 1 });
    await timeouts.arm(
      { query: (sql, params) => queryRows(arming, sql, params) },
      subjects.map((subjectId) => ({ kind, subjectId, dueAt: new Date(0) })),
    );
    await arming.destroy();
  };
  beforeAll(async () => (database = await createTestDatabase()));
  beforeEach(() => void (told.length = 0));
  // Each has connections of its own, of which the server has some hundred.
  afterEach(async () => {
    for (const module of open.splice(0)) await module.close();
  });
  afterAll(() => database?.drop());

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

  it.each([0, -1, 1.5, NaN, Infinity, '50'])('is refused with %p as its maxBatch', async (size) => {
    @DeadlineHandler('sized', { maxBatch: size as number })
    class Sized implements HandlesDue {
      handle = () => Promise.resolve({ changed: 0 });
    }
    await expect(start(Sized)).rejects.toThrow(
      `@DeadlineHandler("sized") of Sized: \`maxBatch\` must be a whole number of 1 or more, not ${size}`,
    );
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

  it.each(['', undefined, 7, 'k'.repeat(501), 'a\0b'])(
    'is refused with %p as its kind',
    async (kind) => {
      @DeadlineHandler(kind as string)
      class Unnamed implements HandlesDue {
        handle = () => Promise.resolve({ changed: 0 });
      }
      await expect(start(Unnamed)).rejects.toThrow(
        `@DeadlineHandler(${JSON.stringify(kind)}) of Unnamed: its kind must be a text of 1 to 500 bytes`,
      );
    },
  );

  it('is refused without a method of that name', async () => {
    class Idle {
      handel = () => Promise.resolve({ changed: 0 });
    }
    DeadlineHandler('idle')(Idle as never);
    const module = await start(Idle);
    await expect(module.init()).rejects.toThrow(
      '@DeadlineHandler("idle") of Idle: it must have a method `handle(due, tx)`',
    );
  });

  it('is refused beside another of its kind, and both are named', async () => {
    @DeadlineHandler('trial-end')
    class EndThem extends EndTrials {}
    const module = start(EndTrials, { telemetry }, [EndThem]);
    await expect(module).rejects.toBeInstanceOf(AmbiguousDeadlineHandlerError);
    await expect(module).rejects.toThrow(
      'Two handlers for deadlines of kind "trial-end". Keep one @DeadlineHandler("trial-end") of EndTrials, EndThem.',
    );
  });

  it('that a brake covers and nobody has is warned of', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const brake = { kinds: ['trial-end', 'trial-edn'] };
    await start(EndTrials, { telemetry, brake });
    await start(EndTrials, { telemetry, brake, role: 'arm' });
    const said = warn.mock.calls.map(([text]) => String(text));
    warn.mockRestore();
    expect(said).toEqual([
      'The brake covers deadlines of kind "trial-edn", and nobody here handles them: ' +
        'mark a provider with @DeadlineHandler("trial-edn"), unless another service does',
    ]);
  });

  it('of a TimeoutModule that is not there is warned of, once for all that are', async () => {
    @DeadlineHandler('trial-end', { timeouts: 'trails' })
    class EndTrails extends EndTrials {}
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    for (const role of ['ring', 'arm'] as const) {
      await start(EndTrails, { telemetry, role }, [EndTrials]);
    }
    const said = warn.mock.calls.map(([text]) => String(text));
    warn.mockRestore();
    const words =
      'EndTrails is for a TimeoutModule of the name "trails", and this application has none: it handles nothing. ' +
      'Give that name to TimeoutModule.forRoot, or leave `timeouts` out for the one without a name';
    expect(said).toEqual([words]);
  });

  it('that is missing for a kind is warned of, also where there is none at all', async () => {
    const place = await findPlace({ url: database.url }, 'lastcall');
    await migratePlace(place);
    const arming = await place.open({ name: 'test', connections: 1 });
    await queryRows(
      arming,
      `INSERT INTO deadlines (kind, due_at, subject_id, version)
       VALUES ('trial-edn', now() + interval '1 day', gen_random_uuid(), 1)`,
    );
    await arming.destroy();
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    class NoHandler {}
    for (const provider of [NoHandler, EndTrials]) await (await start(provider, {})).init();
    const said = warn.mock.calls.map(([text]) => String(text));
    warn.mockRestore();
    const words =
      'Deadlines of kind "trial-edn" wait, and nobody here handles them: mark a provider with ' +
      '@DeadlineHandler("trial-edn"), unless another service does';
    expect(said.filter((text) => text.includes('trial-edn'))).toEqual([words, words]);
  });

  it('cannot be for kinds of orders that are beside, of which nothing is said', async () => {
    const place = await findPlace({ url: database.url }, 'lastcall');
    await migratePlace(place);
    const arming = await place.open({ name: 'test', connections: 1 });
    await queryRows(
      arming,
      `INSERT INTO deadlines (kind, due_at, subject_id, version)
       VALUES ('shipment', now() + interval '1 day', gen_random_uuid(), 1)`,
    );
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const said = async (): Promise<number> => {
      warn.mockClear();
      await (await start(EndTrials, {})).init();
      return warn.mock.calls.filter(([text]) => String(text).includes('"shipment"')).length;
    };
    // Without orders it is a host's own.
    expect(await said()).toBe(1);
    await queryRows(arming, 'CREATE TABLE stock_folding ()');
    expect(await said()).toBe(0);
    await queryRows(arming, 'DROP TABLE stock_folding');
    await arming.destroy();
    warn.mockRestore();
  });

  it('leaves those who have its connection next as they were, whatever it sets for the session', async () => {
    const module = await start(SetsItsSession);
    await module.init();
    const runtime = module.get<TimeoutRuntime>(runtimeToken('default'));
    const { seen } = module.get(SetsItsSession);
    for (const [nth, statement] of SETTINGS.entries()) {
      const dueAt = new Date();
      await runtime.inHostTransaction((tx) =>
        runtime.timeouts.arm(tx, { kind: 'tenant', subjectId: statement, dueAt }),
      );
      await until('it is handled', () => Promise.resolve(seen.length > nth));
      await runtime.service.idle();
    }
    expect(seen).toEqual(SETTINGS);
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
      const holder = new Client({ connectionString: database.url });
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
