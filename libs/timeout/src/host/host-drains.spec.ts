import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool } from 'pg';
import { QueryFailedError } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { until } from '../../../../test/support/until';
import { Gate } from '../testing/gate';
import {
  DeadlineHandler,
  type Due,
  fromPg,
  getTimeoutsToken,
  type HandlesDue,
  TimeoutModule,
  type TimeoutModuleOptions,
  type Timeouts,
  type Tx,
} from '../public';

const kind = 'trial-end';
type Handle = (due: readonly Due[], tx: Tx) => Promise<unknown>;

describe('the drains of TimeoutModule', () => {
  let database: TestDatabase;
  let pool: Pool;
  const open: TestingModule[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new Pool({ connectionString: database.url });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(open.splice(0).map((module) => module.close()));
    await pool.query('DROP SCHEMA lastcall CASCADE');
  });
  afterAll(async () => {
    await pool?.end();
    await database?.drop();
  });

  async function start(
    options: Partial<TimeoutModuleOptions>,
    handle: Handle,
    maxBatch = 50,
  ): Promise<Timeouts> {
    @DeadlineHandler(kind, { maxBatch })
    class EndTrials implements HandlesDue {
      async handle(due: readonly Due[], tx: Tx): Promise<{ changed: number }> {
        await handle(due, tx);
        return { changed: due.length };
      }
    }
    const timeouts = TimeoutModule.forRoot({
      ...{ postgres: { pool }, driver: 'memory', sweepIntervalMs: 1_000, ...options },
    });
    const module = await Test.createTestingModule({
      imports: [timeouts],
      providers: [EndTrials],
    }).compile();
    module.useLogger(false);
    await module.init();
    open.push(module);
    return module.get<Timeouts>(getTimeoutsToken());
  }
  /** The first of them is due a millisecond before the others, so that it is claimed with the first. */
  async function arm(timeouts: Timeouts, count: number, inMs = 0): Promise<void> {
    const client = await pool.connect();
    const dueAtMs = Date.now() + inMs;
    const subjects = Array.from({ length: count }, (_, n) => ({
      ...{ kind, subjectId: `s${n}` },
      dueAt: new Date(n === 0 ? dueAtMs - 1 : dueAtMs),
    }));
    await timeouts.arm(fromPg(client), subjects);
    client.release();
  }

  it.each([1, 3])('are %i at once in all processes, where the host says so', async (drainers) => {
    let [busy, most, done] = [0, 0, 0];
    let letGo = (): void => undefined;
    const allThere = new Promise<void>((resolve) => (letGo = resolve));
    const handle: Handle = async (due, tx) => {
      most = Math.max(most, ++busy);
      // However long this machine takes to send them out; then a moment longer, for one too many.
      if (busy === drainers) letGo();
      await allThere;
      await tx.query('SELECT pg_sleep(0.03)');
      busy -= 1;
      done += due.length;
    };
    const timeouts = await start({ drainers }, handle);
    await start({ drainers }, handle);
    await arm(timeouts, 1_000);
    await until('all are handled', () => done >= 1_000);
    expect(most).toBe(drainers);
  });

  it.each([
    ['alone', 1],
    ['with all that a batch may have', 60],
  ])('wait for no batch whose handler takes its time: %s', async (_, count) => {
    const gate = new Gate();
    const handled: string[] = [];
    /** How many are in the batch of the one that takes its time. */
    let beside = 0;
    const timeouts = await start({ drainers: 2 }, async (due) => {
      const names = due.map(({ subjectId }) => subjectId);
      if (names.includes('s0')) {
        beside = names.length;
        await gate.pass();
      }
      handled.push(...names);
    });
    await arm(timeouts, count, -1);
    await gate.reached();
    await until('the others are handled', () => handled.length === count - beside);
    for (const subjectId of ['late', 'later']) {
      await timeouts.arm(fromPg(pool), { kind, subjectId, dueAt: new Date() });
      await until('it is handled', () => handled.includes(subjectId), 5_000);
    }
    expect(handled).not.toContain('s0');
    gate.open();
    await until('all are handled', () => handled.length === count + 2);
  });

  const leadsBack = (): Error => {
    const [outer, inner] = [new Error('their API'), new Error('their client')];
    [outer.cause, inner.cause] = [inner, outer];
    return outer;
  };
  const ofTheirs = (code: string): Error =>
    Object.assign(new Error(`FATAL of their database`), { code, severity: 'FATAL' });
  it.each([
    ['leads back to itself', leadsBack],
    ['says that a database of its own is away', () => ofTheirs('57P03')],
    ['says that a database of its own is gone', () => ofTheirs('3D000')],
    ['is of a statement there', () => new QueryFailedError('SELECT 1', [], ofTheirs('53300'))],
  ])('hold up nobody for one whose error %s', async (_, failure) => {
    const handled: string[] = [];
    const timeouts = await start({}, async (due) => {
      const names = due.map(({ subjectId }) => subjectId);
      if (names.includes('s7')) throw failure();
      handled.push(...names);
    });
    await arm(timeouts, 40);
    await until('the others are handled', () => new Set(handled).size === 39, 10_000);
  });

  it('let go of what a worker that stands still holds after as long as the host allows', async () => {
    let stands = 0;
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const options = { standstillLimitMs: 7_000 };
    const handled: string[] = [];
    const handle: Handle = async (due) => void handled.push(...due.map((one) => one.subjectId));
    const LIMIT = 'idle_in_transaction_session_timeout';
    let allowed: unknown;
    // Whoever of the two is first to claim it again: nobody can before it is let go of.
    const frozen = await start(options, async (due, tx) => {
      stands += 1;
      if (stands > 1) return void (await handle(due, tx));
      [allowed] = await tx.query(`SHOW ${LIMIT}`);
      // From here on: what starts, and stands still on a busy machine, has the host's limit.
      await tx.query(`SET LOCAL ${LIMIT} = '200ms'`);
      await woken;
    });
    await arm(frozen, 1);
    await until('it stands still', () => stands > 0);
    await start(options, handle);
    await until('it is handled', () => handled.length > 0);
    wake();
    expect(handled).toEqual(['s0']);
    expect(allowed).toEqual({ [LIMIT]: '7s' });
  });

  describe('beside what looks wrong', () => {
    const many = 600;
    let done: string[];
    // A suspicion is judged every 250 ms: longer than that it takes.
    const handle: Handle = async (due, tx) => {
      await tx.query('SELECT pg_sleep(0.1)');
      tx.afterCommit(() => done.push(...due.map((one) => one.subjectId)));
    };
    beforeEach(() => (done = []));

    it('stop before a mass of a kind that the brake covers, and go on when somebody says so', async () => {
      const logged = jest.spyOn(Logger.prototype, 'error');
      const engaged = jest.fn();
      const brake = { kinds: [kind], suspicion: () => 'mail_down', onEngaged: engaged };
      const timeouts = await start({ brake, drainers: 1 }, handle);
      await arm(timeouts, many);
      await until('it is on', () => engaged.mock.calls.length > 0);
      const facts = expect.objectContaining({ cause: 'mail_down', kind }) as object;
      expect(engaged.mock.calls).toEqual([[facts]]);
      expect(logged.mock.calls.join()).toMatch(/have stopped \(mail_down\): \d+ of \d+ of kind/);
      expect(await timeouts.stopped()).toEqual(facts);
      expect(done.length).toBeLessThan(many);
      await expect(timeouts.resume({ actor: '', reason: 'x' })).rejects.toThrow(TypeError);
      expect(await timeouts.resume({ actor: 'olga', reason: 'mail is up' })).toBe(true);
      expect(await timeouts.resume({ actor: 'olga', reason: 'mail is up' })).toBe(false);
      await until('all are handled', () => done.length === many);
      expect(await timeouts.stopped()).toBeUndefined();
    });

    it('go on where a larger share may be due at once, or nothing is wrong', async () => {
      const brake = { kinds: [kind], share: 0.9, suspicion: () => 'mail_down' };
      const timeouts = await start({ brake }, handle);
      await arm(timeouts, 2 * many, 60_000);
      await pool.query(
        `UPDATE lastcall.deadlines SET due_at = now() WHERE ctid = ANY (ARRAY(SELECT ctid FROM lastcall.deadlines LIMIT $1))`,
        [many],
      );
      await until('all are handled', () => done.length === many);
      expect(await timeouts.stopped()).toBeUndefined();
    });
  });
});
