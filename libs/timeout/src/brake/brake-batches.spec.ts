import type { DataSource, QueryRunner } from 'typeorm';
import { Brake, type BrakeOptions } from './brake';
import type { BrakeFacts } from './brake-table';
import { ClockJumps } from './clock-jumps';
import { Drain } from '../draining/drain';
import { drainDefaults } from '../draining/drain-options';
import { DeadlineStore } from '../testing/deadline-store';
import { drainParts, Effects } from '../testing/drain-harness';
import { Gate } from '../testing/gate';

const KIND = 'payment';
const HOUR_MS = 3_600_000;
const DUE = 3_000;
const BATCH = 100;

/** What a machine's clock jump looks like from within: less uptime than the database's clock says. */
describe('The brake, asked by every batch', () => {
  let store: DeadlineStore;
  let uptimeMs: number;
  let machines = 0;
  beforeAll(async () => (store = await DeadlineStore.open()));
  afterAll(() => store?.close());
  beforeEach(async () => {
    await store.empty();
    uptimeMs = 10 * HOUR_MS;
    await store.add(KIND, Array<number>(DUE).fill(-1_000));
  });

  /** The database's clock, seen from this machine, is an hour ahead from now on. */
  const jump = (): void => void (uptimeMs -= HOUR_MS);

  /** The store's connections, each changed as it is taken. */
  const changed = (change: (runner: QueryRunner) => void): DataSource => {
    const createQueryRunner = (): QueryRunner => {
      const runner = store.dataSource.createQueryRunner();
      change(runner);
      return runner;
    };
    return Object.create(store.dataSource, {
      createQueryRunner: { value: createQueryRunner },
    }) as DataSource;
  };

  const brake = (dataSource: DataSource, options: Partial<BrakeOptions> = {}): Brake =>
    new Brake(
      dataSource,
      { kinds: [KIND], share: 0.2, ...options },
      new ClockJumps(dataSource, () => uptimeMs, `machine-${++machines}`),
    );
  const drain = (handler: Effects, of: Brake, dataSource = store.dataSource): Drain =>
    new Drain(KIND, handler, drainParts(dataSource, KIND, { brake: of }), {
      ...drainDefaults,
      drainers: 2,
    });
  const wantsToJudge = async (of: Brake): Promise<boolean> =>
    of.wantsToJudge(await store.now(), uptimeMs);
  const handled = async (): Promise<number> => (await store.rows('SELECT FROM effects')).length;

  it('stops a drain that is under way: no batch claims after the jump', async () => {
    let batches = 0;
    const handler = new Effects(BATCH, async () => void (++batches === 5 && jump()));
    await drain(handler, brake(store.dataSource)).run('timer');
    // The fifth is the one in which it jumps; a sibling may have claimed before it.
    expect(await handled()).toBeLessThanOrEqual(6 * BATCH);
    expect(await store.rows('SELECT cause FROM timeout_brakes')).toEqual([
      { cause: 'clock_jumped' },
    ]);
  });

  it('passes one judgement for all who ask meanwhile, and lets none of them pass', async () => {
    const gate = new Gate();
    let asked = 0;
    const slow = changed((runner) => {
      asked += 1;
      const connect = runner.connect.bind(runner);
      runner.connect = async () => {
        await gate.pass();
        return connect() as unknown;
      };
    });
    const one = brake(slow);
    gate.open();
    await one.judge();
    expect(await wantsToJudge(one)).toBe(false);
    jump();
    const before = asked;
    const drains = [1, 2, 3].map(() => drain(new Effects(BATCH), one).run('timer'));
    await Promise.all(drains);
    expect(await handled()).toBe(0);
    // What this machine knows, what is due, what waits, and one row, whoever asked.
    expect(asked - before).toBe(4);
  });

  it('lets no batch pass that has looked at it before a judgement which ended meanwhile', async () => {
    const gate = new Gate();
    /** Hears at the gate what a batch asks first. */
    const late = changed((runner) => {
      const connect = runner.connect.bind(runner);
      runner.connect = async () => {
        const connection = (await connect()) as { query: (...args: object[]) => unknown };
        const query = async (...args: object[]): Promise<unknown> => {
          const answer = await connection.query(...args);
          if (JSON.stringify(args).includes('is_braked')) await gate.pass();
          return answer;
        };
        return Object.create(connection, { query: { value: query } }) as unknown;
      };
    });
    const one = brake(store.dataSource);
    await one.judge();
    expect(await wantsToJudge(one)).toBe(false);
    jump();
    const round = drain(new Effects(BATCH), one, late).run('timer');
    await gate.reached();
    await drain(new Effects(BATCH), one).run('timer');
    gate.open();
    await round;
    expect(await handled()).toBe(0);
    expect(one.holds(KIND)).toBe(true);
  });

  // What this machine knows, what is due, and the row of the brake.
  it.each([1, 2, 3])(
    'judges again where the %i. question of judging has failed, and lets nothing pass until then',
    async (nth) => {
      let asked = -Infinity;
      const failing = changed(() => {
        if (++asked === nth) throw new Error('away');
      });
      const told: BrakeFacts[] = [];
      const one = brake(failing, { onEngaged: (facts) => told.push(facts) });
      await one.judge();
      expect(await wantsToJudge(one)).toBe(false);
      jump();
      for (let round = 0; round < 2; round++) {
        asked = 0;
        await expect(drain(new Effects(BATCH), one).run('timer')).rejects.toThrow('away');
        expect(await handled()).toBe(0);
      }
      asked = -Infinity;
      await drain(new Effects(BATCH), one).run('timer');
      expect(await handled()).toBe(0);
      expect(told).toMatchObject([{ cause: 'clock_jumped', due: DUE }]);
    },
  );

  it('makes no jump of an answer that was minutes on its way', async () => {
    let onItsWayMs = 0;
    const slow = changed((runner) => {
      const release = runner.release.bind(runner);
      runner.release = async () => {
        uptimeMs += onItsWayMs;
        onItsWayMs = 0;
        await release();
      };
    });
    const one = brake(slow);
    await one.judge();
    onItsWayMs = 2 * 60_000;
    await one.refresh();
    // As if the database's clock had gone on as well meanwhile.
    uptimeMs -= 2 * 60_000;
    await drain(new Effects(BATCH), one).run('timer');
    expect(await handled()).toBe(DUE);
    jump();
    await store.add(KIND, Array<number>(DUE).fill(-1_000));
    await drain(new Effects(BATCH), one).run('timer');
    expect(await handled()).toBe(DUE);
  });

  it('is on for a process that has just begun, before any sweep of it', async () => {
    await store.dataSource.query(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('provider_fails', $1, 1, 1)`,
      [KIND],
    );
    await drain(new Effects(BATCH), brake(store.dataSource)).run('timer');
    expect(await handled()).toBe(0);
  });

  it('knows of a jump while no process ran, before its first batch', async () => {
    const machine = 'machine-that-was-restarted';
    const made = (): Brake =>
      new Brake(
        store.dataSource,
        { kinds: [KIND], share: 0.2 },
        new ClockJumps(store.dataSource, () => uptimeMs, machine),
      );
    await made().refresh();
    jump();
    await drain(new Effects(BATCH), made()).run('timer');
    expect(await handled()).toBe(0);
  });

  it('lets go on as soon as an operator has released it, without a sweep', async () => {
    const one = brake(store.dataSource);
    await one.judge();
    expect(await wantsToJudge(one)).toBe(false);
    jump();
    await drain(new Effects(BATCH), one).run('timer');
    expect(one.holds(KIND)).toBe(true);
    await store.dataSource.query(
      `UPDATE timeout_brakes SET released_at = now(), released_by = 'ann', release_reason = 'seen'`,
    );
    await drain(new Effects(BATCH), one).run('timer');
    expect(await handled()).toBe(DUE);
  });

  describe('once an operator has released it', () => {
    const release = (): Promise<unknown> =>
      store.dataSource.query(
        `UPDATE timeout_brakes SET released_at = now(), released_by = 'ann', release_reason = 'seen'`,
      );

    it('is on again for a jump that comes after that', async () => {
      const one = brake(store.dataSource);
      await one.judge();
      expect(await wantsToJudge(one)).toBe(false);
      jump();
      await drain(new Effects(BATCH), one).run('timer');
      await release();
      await drain(new Effects(BATCH), one).run('timer');
      expect(await handled()).toBe(DUE);
      await store.add(KIND, Array<number>(DUE).fill(-1_000));
      jump();
      await drain(new Effects(BATCH), one).run('timer');
      expect([await handled(), one.holds(KIND)]).toEqual([DUE, true]);
    });

    it('is so for a jump that came while no process ran', async () => {
      const made = (): Brake =>
        new Brake(
          store.dataSource,
          { kinds: [KIND], share: 0.2 },
          new ClockJumps(store.dataSource, () => uptimeMs, 'machine-that-was-off'),
        );
      const one = made();
      await one.refresh();
      jump();
      await one.refresh();
      await release();
      // As long as the machine is up, a minute later is a greater uptime.
      await store.rows('DELETE FROM machine_clocks');
      await one.refresh();
      jump();
      await drain(new Effects(BATCH), made()).run('timer');
      expect(await handled()).toBe(0);
    });

    it('is released for a machine that had not looked since before the jump', async () => {
      const [one, late] = [brake(store.dataSource), brake(store.dataSource)];
      await one.refresh();
      await late.refresh();
      jump();
      await drain(new Effects(BATCH), one).run('timer');
      await release();
      await drain(new Effects(BATCH), late).run('timer');
      expect([await handled(), late.isOn]).toEqual([DUE, false]);
    });
  });
});
