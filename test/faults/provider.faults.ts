import { randomBytes } from 'node:crypto';
import { insertOrders } from '../support/insert-orders';
import { until } from '../support/until';
import { assert, type Fault, type Step } from './fault';
import { payLate } from './late-payments';
import { pause } from './load';
import { areClosed } from './open-orders';
import { beReadyToRefund, refundMeanwhile, refundsSince } from './refunding';

const CROWD = 500;
const BETWEEN_BURSTS_MS = 2_000;
/** A minute, and what the next calls, tried later and later, take to show that it answers. */
const ON_AT_MOST_MS = 180_000;

/** What is answered by these does not say what has become of the call. */
const TELLS_NOTHING = new Set(['timeoutRate', 'errorRate', 'rateLimitRate', 'malformedRate']);

/** Long enough for orders with open payments to come to their deadline meanwhile. */
const misbehaving = (
  name: string,
  faults: Readonly<Record<string, unknown>>,
  quick = false,
): Fault => ({
  area: 'Provider',
  name,
  quick,
  run: async (step) => {
    await beReadyToRefund(step);
    const since = await step.now();
    await step.client.faults({ ...faults, seed: 7 });
    const over = step.lasting(10_000, 5_000);
    await refundMeanwhile(
      step,
      Object.keys(faults).some((fault) => TELLS_NOTHING.has(fault)),
    );
    await over;
    const closing = await countClosing(step);
    await step.heal(() => step.client.healProvider());
    return `${closing} orders waited behind the fence; ${await refundsSince(step, since)}`;
  },
});

export const PROVIDER_FAULTS: readonly Fault[] = [
  misbehaving('never answers, the effect is there half the time', {
    timeoutRate: 1,
    timeoutHoldMs: 4_000,
  }),
  misbehaving('500 to every call, the effect is there half the time', { errorRate: 1 }, true),
  misbehaving('429 to half of the calls', { rateLimitRate: 0.5 }),
  misbehaving('success after a timeout, always', {
    timeoutRate: 0.5,
    timeoutHoldMs: 3_500,
    carriedOutRate: 1,
  }),
  misbehaving('every capture reported twice, as two events', { doubleSuccess: true }),
  misbehaving('every second answer is garbage', { malformedRate: 0.5 }),
  misbehaving('captures on payments that are closed: late money', { captureAfterClose: true }),
  {
    area: 'Provider',
    name: 'unreachable: connections refused',
    run: async (step) => {
      await step.rig.provider.refuse();
      await step.lasting(10_000, 6_000);
      const closing = await countClosing(step);
      await step.heal(() => step.rig.provider.restore());
      return `${closing} orders waited behind the fence, stock and all`;
    },
  },
  {
    area: 'Provider',
    name: 'every payment is refused for good; what is open is settled on time',
    run: async (step) => {
      const since = await step.now();
      await step.client.faults({ refuseRate: 1, operations: ['payment.create'], seed: 7 });
      await step.lasting(10_000, 6_000);
      const [seen] = await step.rig.rows<Record<'refused' | 'waiting' | 'settled', number>>(
        `SELECT count(*) FILTER (WHERE p.status = 'failed' AND p.failure IS NOT NULL)::int AS refused,
                count(*) FILTER (WHERE p.status = 'open' AND p.provider_payment_id IS NULL
                  AND p.created_at < now() - interval '3 s')::int AS waiting,
                count(*) FILTER (WHERE p.status = 'closed' AND o.closed_at >= $1)::int AS settled
           FROM payments p JOIN orders o ON o.id = p.order_id
          WHERE p.created_at >= $1 - interval '1 minute'`,
        [since],
      );
      assert(seen && seen.refused > 10, 'too few payments were refused');
      assert(seen.waiting === 0, `${seen.waiting} refused payments are still open`);
      // The provider answers all the while: nobody may take it for one that is away.
      assert(seen.settled > 0, 'no open payment was settled meanwhile');
      await step.heal(() => step.client.healProvider());
      return `${seen.refused} payments refused, each failed at once; ${seen.settled} open ones settled meanwhile`;
    },
  },
  {
    area: 'Provider',
    name: 'switched off with open work: refused; then kept beside another one',
    run: async (step) => {
      const { rig } = step;
      const another = {
        PAYMENT_PROVIDERS: 'stripe',
        STRIPE_SECRET_KEY: 'sk_test_of_nobody',
        STRIPE_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
        STRIPE_API_URL: 'http://127.0.0.1:9',
      };
      const refusal = await rig.start({ name: 'switched', roles: 'worker', env: another }).then(
        () => 'none: it started',
        (error: Error) => error.message,
      );
      rig.forget('switched');
      const named = /sandbox: (\d+ open payments[^\n]*)/.exec(refusal)?.[1];
      assert(named, `it was not refused by name: ${refusal}`);
      // The workers prefer the other one; what is open at the first is theirs to settle all the same.
      const env = { ...another, PAYMENT_PROVIDERS: 'stripe,sandbox' };
      for (const name of ['worker-1', 'worker-2']) {
        await rig.process(name).stop();
        await rig.start({ name, roles: 'worker', env });
      }
      const since = await step.now();
      await payLate(step, 4);
      await step.lasting(10_000, 5_000);
      const refunds = await until('a refund is made where the money is', async () => {
        const [row] = await rig.rows<{ n: number }>(
          `SELECT count(*)::int AS n FROM refunds WHERE status = 'succeeded' AND finished_at >= $1`,
          [since],
        );
        return row?.n;
      });
      for (const name of ['worker-1', 'worker-2']) {
        await rig.process(name).stop();
        rig.forget(name);
      }
      await step.backToUsual();
      await step.heal();
      return `refused for ${named}; beside another one ${refunds} refunds where the money was`;
    },
  },
  {
    area: 'Provider',
    name: 'refunds that are accepted and fail later',
    run: async (step) => {
      const since = await step.now();
      await step.client.faults({ failRefunds: true, captureAfterClose: true });
      await payLate(step, 8);
      // Healed before the third and last attempt: after that it is an operator's to decide.
      const tried = await until('a refund is tried again', async () => {
        const [row] = await step.rig.rows<{ tried: number }>(
          `SELECT max(attempt) AS tried FROM refunds WHERE created_at >= $1
           HAVING max(attempt) > 1`,
          [since],
        );
        return row?.tried;
      });
      await step.client.healProvider();
      await step.heal();
      return `refunds tried again with a key of their own, up to attempt ${tried}`;
    },
  },
  {
    area: 'Provider',
    name: 'fails as bursts of 500 come due: timeouts stop, and go on by themselves once it answers',
    run: stopAndGoOn,
  },
];

async function stopAndGoOn(step: Step): Promise<string> {
  const { rig } = step;
  await step.client.faults({ errorRate: 1, seed: 7 });
  const ours: string[] = [];
  // How many calls of theirs have failed only the workers know: the first bursts may close.
  const stopped = await until(
    'timeouts have stopped',
    async () => {
      const orders = await insertOrders(rig, { count: CROWD, closesInMs: -1 });
      ours.push(...orders.map(({ id }) => id));
      await pause(BETWEEN_BURSTS_MS);
      return brakes(step, 'released_at IS NULL');
    },
    60_000,
  );
  assert(stopped.cause === 'provider_fails', `stopped by ${stopped.cause}`);
  await step.client.healProvider();
  const ended = await until(
    'they go on by themselves',
    () => brakes(step, `released_by = 'brake' AND id = '${stopped.id}'`),
    ON_AT_MOST_MS,
  );
  await until('all are closed', () => areClosed(step, ours), 60_000);
  await step.heal();
  return `stopped with ${stopped.due} of ${stopped.waiting} due; went on ${ended.onS.toFixed(0)} s later, and all closed`;
}

interface Stopped {
  readonly id: string;
  readonly cause: string;
  readonly due: number;
  readonly waiting: number;
  readonly onS: number;
}

async function brakes({ rig }: Step, which: string): Promise<Stopped | undefined> {
  const [row] = await rig.rows<Stopped>(
    `SELECT id, cause, due, waiting, extract(epoch FROM coalesce(released_at, now()) - engaged_at)::float8 AS "onS"
       FROM timeout_brakes WHERE ${which} ORDER BY engaged_at DESC LIMIT 1`,
  );
  return row;
}

async function countClosing({ rig }: Step): Promise<number> {
  const [row] = await rig.rows<{ n: number }>(
    `SELECT count(*)::int AS n FROM orders WHERE status = 'closing'`,
  );
  return row?.n ?? 0;
}
