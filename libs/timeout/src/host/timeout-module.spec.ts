import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { Injectable, Logger, Scope, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool } from 'pg';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  fromTypeOrm,
  getTimeoutsToken,
  type HandlesDue,
  migrateTimeouts,
  MissingDeadlineTablesError,
  TimeoutModule,
  type TimeoutModuleOptions,
  Timeouts,
  type Tx,
} from '../public';
import { TimeoutTesting } from '../testing';

/** A table of the host's; ours of other things may have the same name. */
@Entity('orders')
class Trial {
  @PrimaryColumn('text') id!: string;
  @Column('text') state!: string;
}

@DeadlineHandler('trial-end', { maxBatch: 50 })
class EndTrials implements HandlesDue {
  readonly seen: Due[] = [];
  failFor: string | undefined;

  async handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
    if (due.some(({ subjectId }) => subjectId === this.failFor)) throw new Error('no');
    const trials = tx.manager.getRepository(Trial);
    const ids = due.map(({ subjectId }) => subjectId);
    const { affected } = await trials
      .createQueryBuilder()
      .update({ state: 'ended' })
      .where(`id = ANY (:ids) AND state = 'on'`, { ids })
      .execute();
    tx.afterCommit(() => void this.seen.push(...due));
    return { changed: affected ?? 0 };
  }
}

@Injectable({ scope: Scope.REQUEST })
class OfRequest {}

@DeadlineHandler('of-request')
class ScopedHandler implements HandlesDue {
  constructor(readonly request: OfRequest) {}
  handle = () => Promise.resolve({ changed: 0 });
}
Reflect.defineMetadata('design:paramtypes', [OfRequest], ScopedHandler);

const inMs = (ms: number): Date => new Date(Date.now() + ms);
const SOON = 300;
const kind = 'trial-end';

describe('TimeoutModule, in a host with tables of its own', () => {
  let database: TestDatabase;
  let host: DataSource;
  let app: TestingModule;
  let timeouts: Timeouts;
  let handler: EndTrials;
  const open: TestingModule[] = [];

  const start = async (
    options: Partial<TimeoutModuleOptions> = {},
    providers: Type[] = [],
  ): Promise<TestingModule> => {
    const module = await Test.createTestingModule({
      imports: [
        TimeoutModule.forRoot({
          postgres: { dataSource: host },
          // What was made due by hand is taken by a sweep.
          sweepIntervalMs: 1_000,
          ...options,
        }),
      ],
      providers,
    })
      .setLogger(false as never)
      .compile();
    await module.init();
    open.push(module);
    return module;
  };
  const state = async (id: string) => (await host.getRepository(Trial).findOneBy({ id }))?.state;
  const begin = async (id: string, ms: number): Promise<void> => {
    await host.transaction(async (manager) => {
      await manager.insert(Trial, { id, state: 'on' });
      await timeouts.arm(fromTypeOrm(manager), { kind, subjectId: id, dueAt: inMs(ms) });
    });
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    host = new DataSource({
      type: 'postgres',
      url: database.url,
      entities: [Trial],
      synchronize: true,
      extra: { options: '-c search_path=public' },
    });
    await host.initialize();
    app = await start({}, [EndTrials]);
    timeouts = app.get<Timeouts>(getTimeoutsToken());
    handler = app.get(EndTrials);
  });
  afterAll(async () => {
    for (const module of open.reverse()) await module.close();
    await host?.destroy();
    await database?.drop();
  });

  it("calls the handler on time, in a transaction that knows the host's entities", async () => {
    await begin('trial/1', SOON);
    const isIt = ({ subjectId }: Due): boolean => subjectId === 'trial/1';
    // Noted after the commit, of which others may have heard before.
    const due = await until('it has ended', () => handler.seen.find(isIt));
    expect(Date.now()).toBeGreaterThanOrEqual(due.dueAt.getTime());
    expect(await state('trial/1')).toBe('ended');
    expect(await timeouts.get({ kind, subjectId: 'trial/1' })).toBeUndefined();
  });

  it('arms nothing in a transaction that is rolled back', async () => {
    await expect(
      host.transaction(async (manager) => {
        const dueAt = inMs(60_000);
        await timeouts.arm(fromTypeOrm(manager), { kind, subjectId: 'never', dueAt });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await timeouts.get({ kind, subjectId: 'never' })).toBeUndefined();
  });

  it('replaces a deadline that is armed again, and fires once', async () => {
    await begin('twice', 60_000);
    // Somebody claims it just now: it stays when it is replaced.
    const claimer = host.createQueryRunner();
    await claimer.startTransaction();
    await claimer.query('SELECT FROM lastcall.deadlines FOR UPDATE');
    const last = inMs(50_000);
    await timeouts.arm(fromTypeOrm(host.manager), [
      { kind, subjectId: 'twice', dueAt: inMs(70_000) },
      { kind, subjectId: 'twice', dueAt: last },
    ]);
    const armed = { version: 2, dueAt: last };
    expect(await timeouts.get({ kind, subjectId: 'twice' })).toMatchObject(armed);
    await timeouts.arm(fromTypeOrm(host.manager), { kind, subjectId: 'twice', dueAt: inMs(SOON) });
    await until('it has ended', async () => (await state('twice')) === 'ended');
    await claimer.rollbackTransaction();
    await claimer.release();
    // The row of the first one is due now, too: it finds that it has been replaced.
    expect(await host.query('SELECT 1 FROM lastcall.deadlines')).toHaveLength(1);
    await host.query(`UPDATE lastcall.deadlines SET due_at = now() - interval '1 second'`);
    await host.query(`UPDATE public.orders SET state = 'on' WHERE id = 'twice'`);
    await until('it is taken', async () => {
      const rows: unknown[] = await host.query('SELECT 1 FROM lastcall.deadlines');
      return rows.length === 0;
    });
    expect(await state('twice')).toBe('on');
    expect(handler.seen.filter(({ subjectId }) => subjectId === 'twice')).toHaveLength(1);
  });

  it('takes back and moves what is armed, and says whether there was anything', async () => {
    const pool = new Pool({ connectionString: database.url });
    const tx = fromPg(pool);
    await timeouts.arm(tx, [
      { kind, subjectId: 'b', dueAt: inMs(70_000) },
      { kind, subjectId: 'a', dueAt: inMs(80_000) },
    ]);
    expect(await timeouts.reschedule(tx, { kind, subjectId: 'a', dueAt: inMs(60_000) })).toBe(true);
    expect(await timeouts.reschedule(tx, { kind, subjectId: 'x', dueAt: inMs(1) })).toBe(false);
    const [first, ...rest] = await timeouts.list({ kind, limit: 1 });
    expect([first?.subjectId, rest]).toEqual(['a', []]);
    expect(first && (await timeouts.list({ kind, after: first }))).toMatchObject([
      { subjectId: 'b' },
    ]);
    expect(await timeouts.cancel(tx, { kind, subjectId: 'a' })).toBe(1);
    expect(await timeouts.cancel(fromTypeOrm(host.manager), { kind, subjectId: 'b' })).toBe(1);
    expect(await timeouts.cancel(tx, { kind, subjectId: 'a' })).toBe(0);
    expect(await timeouts.list({ kind })).toEqual([]);
    await pool.end();
  });

  it('arms none of a list in which one deadline is wrong', async () => {
    const tx = fromTypeOrm(host.manager);
    const good = { kind, subjectId: 'good', dueAt: inMs(60_000) };
    const wrong = { ...good, subjectId: '' };
    await expect(timeouts.arm(tx, [good, wrong])).rejects.toThrow(TypeError);
    await expect(timeouts.reschedule(tx, wrong)).rejects.toThrow(TypeError);
    expect(await timeouts.list({ kind })).toEqual([]);
  });

  it('arms what is as long, as early and as late as may be', async () => {
    const tx = fromTypeOrm(host.manager);
    const noise = (bytes: number) => randomBytes(bytes / 2).toString('hex');
    const longest = { kind: noise(500), subjectId: noise(2_000), dueAt: inMs(60_000) };
    await timeouts.arm(tx, [
      longest,
      { kind: 'odd', subjectId: 'first', dueAt: new Date('0001-01-01T00:00:00Z') },
      { kind: 'odd', subjectId: 'last', dueAt: new Date('9999-12-31T23:59:59.999Z') },
    ]);
    expect(await timeouts.get(longest)).toMatchObject(longest);
    const [first, last] = await timeouts.list({ kind: 'odd' });
    expect([first?.dueAt, last?.dueAt].map((at) => at?.toISOString())).toEqual([
      '0001-01-01T00:00:00.000Z',
      '9999-12-31T23:59:59.999Z',
    ]);
    expect(await timeouts.cancel(tx, [longest, ...(await timeouts.list({ kind: 'odd' }))])).toBe(3);
  });

  it('answers for a subject that cannot be as for one that nobody has armed', async () => {
    const tx = fromTypeOrm(host.manager);
    for (const subjectId of ['a\0b', '\uD800', 'x'.repeat(100_000)]) {
      expect(await timeouts.get({ kind, subjectId })).toBeUndefined();
      expect(await timeouts.cancel(tx, { kind, subjectId })).toBe(0);
    }
  });

  it.each([['subjectId'], ['kind']])(
    'refuses a %s that is no text, whatever it is asked',
    async (name) => {
      const tx = fromTypeOrm(host.manager);
      const numbered = {
        kind,
        subjectId: '4711',
        dueAt: inMs(60_000),
        [name]: 4711 as unknown as string,
      };
      const refused = { name: 'TypeError', message: expect.stringContaining(name) as string };
      await expect(timeouts.arm(tx, numbered)).rejects.toMatchObject(refused);
      await expect(timeouts.get(numbered)).rejects.toMatchObject(refused);
      await expect(timeouts.cancel(tx, [numbered])).rejects.toMatchObject(refused);
      await expect(timeouts.release(numbered)).rejects.toMatchObject(refused);
    },
  );

  it('puts nobody else aside for a subject that fails', async () => {
    handler.failFor = 'bad';
    await begin('bad', SOON);
    await begin('beside', SOON);
    await until('the other has ended', async () => (await state('beside')) === 'ended');
    expect(await state('bad')).toBe('on');
    handler.failFor = undefined;
    await until('it has ended', async () => (await state('bad')) === 'ended');
  });

  it('waits for nobody who is changing a subject just now, and takes it soon after', async () => {
    await begin('held', 60_000);
    const holder = host.createQueryRunner();
    await holder.startTransaction();
    await holder.query(`SELECT 1 FROM lastcall.timeout_subjects WHERE subject = 'held' FOR UPDATE`);
    await host.query(`UPDATE lastcall.deadlines SET due_at = now() - interval '1 second'`);
    await begin('free', SOON);
    await until('the other has ended', async () => (await state('free')) === 'ended');
    expect(await state('held')).toBe('on');
    await holder.rollbackTransaction();
    await holder.release();
    await until('it has ended', async () => (await state('held')) === 'ended');
  });

  it('refuses a handler that is made anew for each request', async () => {
    await expect(start({}, [ScopedHandler, OfRequest])).rejects.toThrow('request-scoped');
  });

  it('needs no handlers to arm, nor the kinds of another service on the same tables', async () => {
    const arming = (await start({ role: 'arm' })).get<Timeouts>(getTimeoutsToken());
    await arming.arm(fromTypeOrm(host.manager), {
      kind: 'of-another-service',
      subjectId: '1',
      dueAt: inMs(-1_000),
    });
    @DeadlineHandler('second')
    class Second implements HandlesDue {
      handle = () => Promise.resolve({ changed: 0 });
    }
    await start({}, [Second]);
    expect(await arming.list({ kind: 'of-another-service' })).toHaveLength(1);
  });

  it('has a name where there are several', async () => {
    const given = { postgres: { url: database.url }, driver: 'memory', role: 'arm' } as const;
    const module = await Test.createTestingModule({
      imports: [TimeoutModule.forRoot({ name: 'others', ...given })],
    }).compile();
    open.push(module);
    expect(module.get(getTimeoutsToken('others'))).toBeInstanceOf(Timeouts);
  });

  it.each(['ring', 'arm'] as const)(
    'is told of missing tables where somebody else migrates, and what makes them, as role %s',
    async (role) => {
      const schema = 'not_yet';
      const starting = start({ migrate: false, role, schema });
      await expect(starting).rejects.toBeInstanceOf(MissingDeadlineTablesError);
      await expect(starting).rejects.toMatchObject({ code: 'missing_tables' });
      await expect(starting).rejects.toThrow(
        /^The schema "not_yet" has no tables of lastcall's deadlines.* migrateTimeouts\(/,
      );
    },
  );

  it('finds those that somebody else has made', async () => {
    const schema = 'made_before';
    await migrateTimeouts({ postgres: { url: database.url }, schema });
    const module = await start({ migrate: false, schema });
    const made = module.get<Timeouts>(getTimeoutsToken());
    expect(await made.list({ kind })).toEqual([]);
  });

  it('tells in the log of those that an older version has made, and which migrations they miss', async () => {
    const schema = 'made_by_an_older';
    await migrateTimeouts({ postgres: { url: database.url }, schema });
    const errors = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const told = () => errors.mock.calls.map(([text]) => String(text));
    await start({ migrate: false, schema });
    expect(told()).toEqual([]);
    const client = new Pool({ connectionString: database.url, max: 1 });
    const names = ['StoppedKinds1764160000000', 'SweepShards1763930020000'];
    await client.query(`DELETE FROM ${schema}.lastcall_migrations WHERE name = ANY ($1)`, [names]);
    await client.end();
    await start({ migrate: false, role: 'arm', schema });
    expect(told()).toEqual([
      expect.stringMatching(
        /"made_by_an_older" is of an older version: SweepShards1763930020000, StoppedKinds1764160000000 did not run.*migrateTimeouts\(/,
      ),
    ]);
    errors.mockRestore();
  });

  it('lets two weeks pass at once in a test', async () => {
    @DeadlineHandler('reminder')
    class Remind implements HandlesDue {
      readonly reminded: string[] = [];
      handle(due: readonly Due[]): Promise<{ changed: number }> {
        this.reminded.push(...due.map(({ subjectId }) => subjectId));
        return Promise.resolve({ changed: due.length });
      }
    }
    const t = await TimeoutTesting.create({
      postgres: { url: database.url },
      handlers: [Remind],
    });
    await t.arm({ kind: 'reminder', subjectId: 'ann', dueAt: inMs(14 * 86_400_000 - 5_000) });
    await t.arm({ kind: 'reminder', subjectId: 'bob', dueAt: inMs(15 * 86_400_000) });
    await t.advance('13d');
    expect(t.get(Remind).reminded).toEqual([]);
    await t.advance('1d');
    expect(t.get(Remind).reminded).toEqual(['ann']);
    await expect(t.advance('two weeks')).rejects.toThrow('no duration');
    await t.close();
    expect(
      await host.query(`SELECT 1 FROM pg_namespace WHERE nspname LIKE 'lastcall_test%'`),
    ).toEqual([]);
  });

  it('does not compile with a factory of the wrong types', () => {
    class Settings {
      readonly databaseUrl = database.url;
    }
    const options = (url: string): TimeoutModuleOptions => ({ postgres: { url } });
    const right = TimeoutModule.forRootAsync({
      inject: [Settings],
      useFactory: (settings) => options(settings.databaseUrl),
    });
    const wrong = TimeoutModule.forRootAsync({
      inject: [Settings],
      // @ts-expect-error -- Settings is no number
      useFactory: (settings: number) => options(String(settings)),
    });
    expect([right.module, wrong.module]).toEqual([TimeoutModule, TimeoutModule]);
  });
});
