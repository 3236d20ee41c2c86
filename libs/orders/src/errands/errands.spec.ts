import { silentOrdersTelemetry } from '../../../../test/support/silent-telemetry';
import { until } from '../../../../test/support/until';
import { openOrder, paidOrder } from '../../../../test/support/paid-order';
import { openWorld, type World } from '../../../../test/support/world';
import type { ExtendWindow } from '../closing/extend-window';
import type { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import type { CreateRefund } from '../ops/create-refund';
import type { CloseRun, ForceCloseOrders } from '../ops/force-close-orders';
import type { SettlePayment } from '../ops/held-payments';
import type { SettleOrder } from '../ops/settle-order';
import { LastcallError } from '../order/errors';
import type { OrderHooks } from '../order/order-hooks';
import type { Queryable } from '../order/order-rows';
import type { PaymentProviders } from '../providers/payment-providers';
import { CarryOutErrands } from './carry-out-errands';
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

type Close = (orderIds: readonly string[], run: CloseRun) => Promise<unknown[]>;

/** A worker of a host whose use case this is. */
function workerThat(
  close: Close,
  hooks = { hasAny: true },
  extendOnce: unknown = undefined,
  {
    create,
    providers = [],
  }: Partial<Pick<CreateRefund, 'create'>> & {
    readonly providers?: readonly string[];
  } = {},
): CarryOutErrands {
  return new CarryOutErrands(
    world.dataSource,
    hooks as OrderHooks,
    silentOrdersTelemetry,
    {} as CancelOrderByOperator,
    { run: close } as unknown as ForceCloseOrders,
    {} as SettleOrder,
    {} as SettlePayment,
    { create } as unknown as CreateRefund,
    { extendOnce } as unknown as ExtendWindow,
    { names: providers } as PaymentProviders,
  );
}

const left: Promise<unknown>[] = [];
const leave = (orderId: string, signal = never) => {
  const command = { ...OLGA, dryRun: true };
  const answer = leaveErrand(world, signal, 'orders.force-close', [[orderId], command]);
  left.push(answer);
  return answer;
};
const waiting = async (count: number): Promise<void> =>
  void (await until(
    'they are asked for',
    async () => (await world.rows('SELECT 1 FROM errands')).length === count,
  ));

/** A worker that leaves them all alone is found within the time that a planted bug has. */
const TAKEN_BY_MS = 10_000;
/** A turn of its worker that finds one: the command may be about to say that it waits, and has its row then. */
const turnOf = (worker: CarryOutErrands): Promise<unknown> =>
  until('a worker has taken it', async () => (await worker.runOnce()) > 0, TAKEN_BY_MS);

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

  describe.each(['refunds.create-at-provider', 'refunds.create', 'orders.extend'] as const)(
    'as %s, of a payment at a provider',
    (what) => {
      const isExtension = what === 'orders.extend';
      const done = async (orderId: string): Promise<unknown> => [`of ${orderId}`];
      const asked = (orderId: string): Promise<unknown> =>
        isExtension
          ? leaveErrand(world, never, what, [orderId, { ...OLGA, by: 'operator', byMs: 60_000 }])
          : leaveErrand(world, never, what, [orderId, { ...OLGA, amount: 300 }]);
      const workerOf = (...providers: string[]): CarryOutErrands =>
        workerThat(
          () => Promise.reject(new Error('called')),
          { hasAny: what === 'refunds.create' },
          done,
          { create: done as unknown as CreateRefund['create'], providers },
        );
      const tells = (providers: string, hasHooks = what === 'refunds.create') =>
        world.owner.rows(
          `INSERT INTO processes (id, host, pid, settings, has_hooks)
           VALUES (gen_random_uuid(), 'a', 7,
             jsonb_build_object('HOSTS_PROVIDERS', $1::text, 'PAYMENT_PROVIDERS', 'sandbox,' || $1::text), $2)`,
          [providers, hasHooks],
        );
      const orderAt = async (provider: string): Promise<string> => {
        const { id, paymentId } = await (isExtension ? openOrder(world) : paidOrder(world));
        const at = 'UPDATE payments SET provider = $2 WHERE id = $1';
        await world.owner.rows(at, [paymentId, provider]);
        return id;
      };
      afterEach(() => world.owner.rows('DELETE FROM processes'));

      it('is left by workers without that to one that has it', async () => {
        await tells('acme,other');
        const orderId = await orderAt('acme');
        const answer = asked(orderId);
        await waiting(1);
        expect(await workerOf('sandbox').runOnce()).toBe(0);
        await turnOf(workerOf('sandbox', 'acme'));
        expect(await answer).toEqual([`of ${orderId}`]);
      });

      it('is carried out by any where no process has told of that: it is switched off', async () => {
        await tells('other');
        const answer = asked(await orderAt('acme'));
        await waiting(1);
        await turnOf(workerOf('sandbox'));
        expect(await answer).toHaveLength(1);
      });

      it('is taken all the same where what it names is no order', async () => {
        const answer = asked('one');
        await waiting(1);
        await turnOf(workerOf('sandbox'));
        expect(await answer).toEqual(['of one']);
      });
    },
  );

  it('is left to no other where the provider is in processes without the hooks', async () => {
    await world.owner.rows(
      `INSERT INTO processes (id, host, pid, settings, has_hooks)
       VALUES (gen_random_uuid(), 'a', 7, '{"HOSTS_PROVIDERS": "acme"}', false)`,
    );
    const { id, paymentId } = await paidOrder(world);
    await world.owner.rows(`UPDATE payments SET provider = 'acme' WHERE id = $1`, [paymentId]);
    const answer = leaveErrand(world, never, 'refunds.create', [id, { ...OLGA, amount: 300 }]);
    await waiting(1);
    const create = (async (orderId: string) => orderId) as unknown as CreateRefund['create'];
    const close: Close = () => Promise.reject(new Error('called'));
    await turnOf(workerThat(close, undefined, undefined, { create, providers: ['sandbox'] }));
    expect(await answer).toBe(id);
    await world.owner.rows('DELETE FROM processes');
  });

  it('is not begun when nobody waits for it any more, or somebody has begun', async () => {
    const ask = (waited: string, begun: string): Promise<unknown> =>
      world.rows(
        `INSERT INTO errands (id, what, args, waited_at, begun_at)
         VALUES (gen_random_uuid(), 'orders.force-close', '[[]]', ${waited}, ${begun})`,
      );
    await ask("now() - interval '4 seconds'", 'NULL');
    await ask('now()', 'now()');
    expect(await workerThat(() => Promise.reject(new Error('called'))).runOnce()).toBe(0);
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
    const plain = workerThat(() => Promise.reject(new Error('called')), { hasAny: false });
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
    const plain = workerThat(close, { hasAny: false }, async (...args: unknown[]) => args);
    expect(await plain.runOnce()).toBe(1);
    expect(await asked).toEqual(['one', command]);
  });
});

describe('a command that waits', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** Its row, as the command finds it; how long it waited, and how that ended. */
  async function waitFor(row: { hasBegun: boolean; answer: null } | undefined) {
    const sent: string[] = [];
    const sql: Queryable = {
      rows: async <Row>(text: string) => {
        sent.push(text.split(' ')[0] as string);
        return (text.startsWith('UPDATE') && row ? [row] : [{}]) as Row[];
      },
    };
    const startedMs = performance.now();
    const asked = leaveErrand(sql, never, 'orders.settle', ['one', { ...OLGA, as: 'closed' }]);
    const ended = asked.then(() => undefined).catch(({ state }: { state: string }) => state);
    const endedMs = ended.then(() => performance.now());
    await jest.advanceTimersByTimeAsync(60_000);
    return { state: await ended, tookMs: (await endedMs) - startedMs, sent };
  }

  it('takes it back after 20 s in which nobody has begun', async () => {
    const { state, tookMs, sent } = await waitFor({ hasBegun: false, answer: null });
    expect({ state, last: sent.at(-1) }).toEqual({ state: 'not_taken', last: 'DELETE' });
    expect(Math.round(tookMs / 1_000)).toBe(20);
  });

  it('says that it knows no more, 20 s after somebody has begun, and leaves it', async () => {
    const { state, tookMs, sent } = await waitFor({ hasBegun: true, answer: null });
    expect({ state, last: sent.at(-1) }).toEqual({ state: 'unanswered', last: 'UPDATE' });
    expect(Math.round(tookMs / 1_000)).toBe(20);
  });
});
