import { until } from '../support/until';
import { assert, type Fault, type Scene } from './fault';

/** Long enough for orders with open payments to come to their deadline meanwhile. */
const misbehaving = (
  name: string,
  faults: Readonly<Record<string, unknown>>,
  quick = false,
): Fault => ({
  area: 'Provider',
  name,
  quick,
  play: async (scene) => {
    await scene.client.faults({ ...faults, seed: 7 });
    await scene.lasting(10_000, 5_000);
    const before = await count(scene);
    await scene.heal(() => scene.client.healProvider());
    return `${before.closing} orders waited behind the fence; ${before.refunds} refunds so far, each once`;
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
    play: async (scene) => {
      await scene.stage.provider.refuse();
      await scene.lasting(10_000, 6_000);
      const { closing } = await count(scene);
      await scene.heal(() => scene.stage.provider.restore());
      return `${closing} orders waited behind the fence, stock and all`;
    },
  },
  {
    area: 'Provider',
    name: 'refunds that are accepted and fail later',
    play: async (scene) => {
      const since = await scene.now();
      await scene.client.faults({ failRefunds: true, captureAfterClose: true });
      await payLate(scene, 8);
      // Healed before the third and last attempt: after that it is an operator's to decide.
      const tried = await until('a refund is tried again', async () => {
        const [row] = await scene.stage.rows<{ tried: number }>(
          `SELECT max(attempt) AS tried FROM refunds WHERE created_at >= $1
           HAVING max(attempt) > 1`,
          [since],
        );
        return row?.tried;
      });
      await scene.client.healProvider();
      await scene.heal();
      return `refunds tried again with a key of their own, up to attempt ${tried}`;
    },
  },
];

async function count(scene: Scene): Promise<{ closing: string; refunds: string }> {
  const [row] = await scene.stage.rows<{ closing: string; refunds: string }>(
    `SELECT (SELECT count(*) FROM orders WHERE status = 'closing') AS closing,
            (SELECT count(*) FROM refunds) AS refunds`,
  );
  return row as { closing: string; refunds: string };
}

/** Buyers pay orders that have been closed: the provider takes the money all the same. */
export async function payLate(scene: Scene, howMany: number): Promise<string[]> {
  const paid: string[] = [];
  const closed = () =>
    scene.stage.rows<{ provider_payment_id: string }>(
      `SELECT p.provider_payment_id FROM payments p JOIN orders o ON o.id = p.order_id
      WHERE o.status = 'closed' AND p.status IN ('closed', 'failed') AND p.provider_payment_id IS NOT NULL
      ORDER BY o.closed_at DESC LIMIT $1`,
      [howMany * 3],
    );
  const rows = await until('an order with a payment has closed', async () => {
    const found = await closed();
    return found.length > 0 ? found : undefined;
  });
  for (const { provider_payment_id: id } of rows) {
    if (paid.length === howMany) break;
    const answer = await scene.client.sandbox(`POST /v1/payments/${id}/pay`, { afterClose: true });
    if (answer.status === 200) paid.push(id);
  }
  assert(paid.length > 0, 'no late payment could be made');
  return paid;
}
