import {
  type Close,
  errandWorker,
  turnOf,
  untilAsked,
} from '../../../../test/support/errand-worker';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { LastcallError } from '../order/errors';
import type { Queryable } from '../order/order-rows';
import type { CarryOutErrands } from './carry-out-errands';
import { leaveErrand } from './leave-errand';

const OLGA = { actor: 'olga', reason: 'case 9' };
const never = new AbortController().signal;

let world: World;
beforeAll(async () => (world = await openWorld()));
afterEach(async () => {
  await world.rows('DELETE FROM errands');
  // None looks for its own any more when the database is gone: it would do so for 20 s.
  await Promise.allSettled(left.splice(0));
});
afterAll(() => world?.close());

const workerThat = (close: Close): CarryOutErrands => errandWorker(world, { close });

const left: Promise<unknown>[] = [];
const leave = (orderId: string, signal = never) => {
  const command = { ...OLGA, dryRun: true };
  const answer = leaveErrand(world, signal, 'orders.force-close', [[orderId], command]);
  left.push(answer);
  return answer;
};
const waiting = (count: number): Promise<unknown> => untilAsked(world, count);

describe('what commands leave to the host', () => {
  it('is carried out once by several workers, and each command has its own answer', async () => {
    const begun: string[] = [];
    const close: Close = async ([id = ''], run) => {
      begun.push(id);
      return [{ orderId: id, run }];
    };
    const ids = Array.from({ length: 20 }, (_, index) => `order ${index}`);
    const asked = ids.map((id) => leave(id));
    await waiting(ids.length);
    let carriedOut = 0;
    await until('all are carried out', async () => {
      const counts = await Promise.all([1, 2, 3].map(() => workerThat(close).runOnce()));
      carriedOut += counts.reduce((sum, count) => sum + count);
      return carriedOut >= ids.length;
    });
    expect(carriedOut).toBe(ids.length);
    const answers = await Promise.all(asked);
    expect(answers).toEqual(ids.map((orderId) => [{ orderId, run: { ...OLGA, dryRun: true } }]));
    expect(begun.sort()).toEqual([...ids].sort());
    expect(await world.rows('SELECT 1 FROM errands')).toEqual([]);
  });

  it('has its answer also where the database goes away as it is written', async () => {
    // A sequence counts on where all else is undone.
    await world.owner.rows('CREATE SEQUENCE tries');
    await world.owner
      .rows(`CREATE FUNCTION go_away() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$
      BEGIN
        IF nextval('tries') < 3 THEN RAISE 'terminating' USING ERRCODE = '57P01'; END IF;
        RETURN NEW;
      END $$`);
    await world.owner.rows(`CREATE TRIGGER go_away BEFORE UPDATE OF answer ON errands
      FOR EACH ROW EXECUTE FUNCTION go_away()`);
    try {
      const asked = leave('one');
      await waiting(1);
      await turnOf(workerThat(async ([id]) => [{ id }]));
      expect(await asked).toEqual([{ id: 'one' }]);
    } finally {
      await world.owner.rows('DROP FUNCTION go_away CASCADE');
    }
  });

  it('is not taken again while a worker has it', async () => {
    let end = (): void => undefined;
    const slow = new Promise<void>((resolve) => (end = resolve));
    let calls = 0;
    const worker = workerThat(async () => {
      calls += 1;
      await slow;
      return [];
    });
    const asked = leave('one');
    await waiting(1);
    const first = turnOf(worker);
    await until('it has begun', () => calls === 1);
    expect(await workerThat(async () => [(calls += 1)]).runOnce()).toBe(0);
    end();
    await first;
    expect(await asked).toEqual([]);
    expect(calls).toBe(1);
  });

  it('is refused there with a code, words and facts, and so it is here', async () => {
    const worker = workerThat(async () => {
      throw new LastcallError('busy', 'try again', { retryAfterSeconds: 7 });
    });
    const asked = leave('one').catch((error: unknown) => error);
    await waiting(1);
    await turnOf(worker);
    expect(await asked).toBeInstanceOf(LastcallError);
    expect(await asked).toMatchObject({
      ...{ code: 'busy', message: 'try again', fields: { retryAfterSeconds: 7 } },
    });
  });

  it('is waited for where the database goes away meanwhile, as it is asked for and answered', async () => {
    // A lock, and a name that is not found: what the database did is not known.
    const failsOnce = new Map<string, Error>([
      ['INSERT', new Error('ECONNRESET')],
      ['UPDATE', Object.assign(new Error('lock timeout'), { code: '55P03' })],
      ['DELETE', new Error('getaddrinfo EAI_AGAIN')],
    ]);
    const flaky: Queryable = {
      rows: async <Row>(text: string, values?: unknown[]) => {
        const rows = await world.rows<Row>(text, values);
        const verb = text.split(' ')[0] as string;
        const error = failsOnce.get(verb);
        if (!error) return rows;
        failsOnce.delete(verb);
        throw error;
      },
    };
    const asked = leaveErrand(flaky, never, 'orders.force-close', [['one'], OLGA]);
    await waiting(1);
    await turnOf(workerThat(async () => ['done']));
    expect(await asked).toEqual(['done']);
    expect([...failsOnce]).toEqual([]);
  });

  it('stays lapsed once nobody has looked at it for a while, and is withdrawn', async () => {
    const begun: unknown[] = [];
    let looks = 0;
    const suspended: Queryable = {
      rows: async <Row>(text: string, values?: unknown[]) => {
        // As if this machine had stood still before its second look.
        if (text.startsWith('UPDATE') && (looks += 1) === 2)
          await world.rows(`UPDATE errands SET waited_at = now() - interval '4 seconds'`);
        return world.rows<Row>(text, values);
      },
    };
    const asked = leaveErrand(suspended, never, 'orders.force-close', [['one'], OLGA]);
    await expect(asked).rejects.toMatchObject({ state: 'not_taken' });
    expect(await workerThat(async (ids) => [begun.push(ids)]).runOnce()).toBe(0);
    expect(begun).toEqual([]);
  });

  it('is not begun when nobody waits for it any more, or somebody has begun', async () => {
    const ask = (waited: string, begun: string): Promise<unknown> =>
      world.rows(
        `INSERT INTO errands (id, what, args, waited_at, begun_at)
         VALUES (gen_random_uuid(), 'orders.force-close', '[[]]', ${waited}, ${begun})`,
      );
    await ask("now() - interval '4 seconds'", 'NULL');
    await ask('now()', 'now()');
    expect(await errandWorker(world, {}).runOnce()).toBe(0);
  });

  it('holds up no other where a hook never ends, nor the end of its process', async () => {
    let isHung = false;
    const worker = workerThat(async ([id]) => {
      if (id !== 'hung') return [id];
      isHung = true;
      return new Promise(() => undefined);
    });
    const { setTimeout } = globalThis;
    // What a worker gives each passes at once.
    const soon = (run: () => void, ms?: number): NodeJS.Timeout =>
      setTimeout(run, ms === 5_000 ? 0 : ms);
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(soon);
    void leave('hung').catch(() => undefined);
    await waiting(1);
    await turnOf(worker);
    expect(isHung).toBe(true);
    jest.restoreAllMocks();
    const asked = leave('sound');
    await waiting(2);
    await turnOf(worker);
    expect(await asked).toEqual(['sound']);
  });

  it('is answered, whatever a hook has thrown', async () => {
    const said = 'not \u0000 sayable: \ud83d';
    const worker = workerThat(async () => {
      throw new LastcallError('order_refused', said, { coupon: 7n });
    });
    const asked = leave('one').catch((error: unknown) => error);
    await waiting(1);
    await turnOf(worker);
    const fields = { coupon: '7' };
    expect(await asked).toMatchObject({ code: 'order_refused', message: said, fields });
  });

  it('is answered without the facts that JSON cannot say', async () => {
    const endless: Record<string, unknown> = {};
    endless.itself = endless;
    const worker = workerThat(async () => {
      throw new LastcallError('order_refused', 'no', endless);
    });
    const asked = leave('one').catch((error: unknown) => error);
    await waiting(1);
    await turnOf(worker);
    expect(await asked).toMatchObject({ code: 'order_refused', message: 'no', fields: {} });
  });

  it('is not known where its worker does not know, as its connection broke', async () => {
    const worker = workerThat(() => Promise.reject(new Error('Connection terminated')));
    const asked = leave('one').catch((error: unknown) => error);
    await waiting(1);
    await turnOf(worker);
    expect(await asked).toMatchObject({ name: 'ErrandError', state: 'unanswered' });
  });

  it('waits for a process with hooks, and is taken back by who is interrupted', async () => {
    const controller = new AbortController();
    const asked = leave('one', controller.signal).catch((error: unknown) => error);
    await waiting(1);
    const plain = errandWorker(world, { hasHooks: false });
    expect(await plain.runOnce()).toBe(0);
    controller.abort();
    expect(await asked).toMatchObject({ name: 'ErrandError', state: 'interrupted' });
    expect(await world.rows('SELECT 1 FROM errands')).toEqual([]);
  });

  it('is carried out by each worker where no hook hears of it', async () => {
    const command = { by: 'operator', byMs: 60_000, ...OLGA } as const;
    const asked = leaveErrand(world, never, 'orders.extend', ['one', command]);
    void leave('for one with hooks').catch(() => undefined);
    await waiting(2);
    const close = (): Promise<never> => Promise.reject(new Error('called'));
    const plain = errandWorker(world, {
      close,
      hasHooks: false,
      extendOnce: async (...args) => args,
    });
    await turnOf(plain);
    expect(await asked).toEqual(['one', command]);
    expect(await world.rows('SELECT begun_at FROM errands')).toEqual([{ begun_at: null }]);
  });
});
