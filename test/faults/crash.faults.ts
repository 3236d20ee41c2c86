import { randomUUID } from 'node:crypto';
import { until } from '../support/until';
import { assert, type Fault, type Step } from './fault';
import { allowed } from '../support/slowness';
import { pause } from './load';
import { payLate } from './late-payments';
import { hearWebhooks } from './shop-system';

/** Where a process dies, and who gets there. */
interface KillPoint {
  readonly of: string;
  readonly failpoint: string;
  readonly who: 'api' | 'worker-1';
  /** Brings about what the usual load does too rarely. */
  readonly provoke?: (step: Step) => Promise<unknown>;
  readonly quick?: boolean;
}

/** Enough for a step to be reached soon, and few beside the usual load. */
const ABANDON_EVERY_MS = 300;

const late = (step: Step): Promise<unknown> => payLate(step, 3);

/** The provider still waits for the buyer: only then is it told to close. */
async function cancelWhilePaying({ client }: Step): Promise<void> {
  const body = { items: [{ sku: 'TEA-A', quantity: 1 }] };
  const headers = { 'idempotency-key': randomUUID() };
  const placed = await client.api('POST /v1/orders', { body, headers });
  await client.api(`POST /v1/orders/${String(placed.body.id)}/payments`);
  await client.api(`POST /v1/orders/${String(placed.body.id)}/cancel`);
}

/**
 * Behind the fence: the order comes due while its payment is open as far as we know. The provider
 * ends it when the window does, and its notice would be here before the deadline: so it is lost.
 */
export async function abandonWhilePaying({ client }: Step): Promise<void> {
  await client.faults({ dropWebhooks: true });
  const body = { items: [{ sku: 'TEA-A', quantity: 1 }] };
  const headers = { 'idempotency-key': randomUUID() };
  const placed = await client.api('POST /v1/orders', { body, headers });
  await client.api(`POST /v1/orders/${String(placed.body.id)}/payments`);
  await pause(ABANDON_EVERY_MS);
}

const KILL_POINTS: readonly KillPoint[] = [
  { of: 'place, written and not committed', failpoint: 'place.written@5', who: 'api', quick: true },
  { of: 'place, committed and not answered', failpoint: 'place.committed@5', who: 'api' },
  {
    of: 'pay, our row is there, the provider not asked',
    failpoint: 'payment.opened@3',
    who: 'api',
  },
  { of: 'pay, created at the provider, not noted', failpoint: 'payment.created@3', who: 'api' },
  { of: 'webhook, stored and not applied', failpoint: 'webhook.stored@3', who: 'api' },
  { of: 'webhook, applied and not committed', failpoint: 'webhook.applied@3', who: 'api' },
  {
    of: 'late pay, money recorded and not decided',
    failpoint: 'capture.recorded@3',
    who: 'api',
    provoke: late,
  },
  {
    of: 'fast close, changed and not committed',
    failpoint: 'close.changed@2',
    who: 'worker-1',
  },
  {
    of: 'careful close, fence not committed',
    failpoint: 'closing.fencing',
    who: 'worker-1',
    provoke: abandonWhilePaying,
  },
  {
    of: 'careful close, claimed',
    failpoint: 'closing.claimed',
    who: 'worker-1',
    provoke: abandonWhilePaying,
  },
  {
    of: 'careful close, asked',
    failpoint: 'closing.asked',
    who: 'worker-1',
    provoke: abandonWhilePaying,
  },
  {
    of: 'careful close, closed at the provider',
    failpoint: 'closing.closed_at_provider',
    who: 'api',
    provoke: cancelWhilePaying,
  },
  {
    of: 'careful close, answer known, nothing written',
    failpoint: 'closing.answered',
    who: 'worker-1',
    provoke: abandonWhilePaying,
  },
  {
    of: 'careful close, applied and not committed',
    failpoint: 'closing.applied',
    who: 'worker-1',
    provoke: abandonWhilePaying,
  },
  {
    of: 'careful close, settled',
    failpoint: 'closing.settled',
    who: 'worker-1',
    provoke: abandonWhilePaying,
  },
  { of: 'refund, claimed', failpoint: 'refund.claimed', who: 'worker-1', provoke: late },
  {
    of: 'refund, made at the provider, not noted',
    failpoint: 'refund.answered',
    who: 'worker-1',
    provoke: late,
    quick: true,
  },
  {
    of: 'refund, applied and not committed',
    failpoint: 'refund.applied',
    who: 'worker-1',
    provoke: late,
  },
  { of: 'refund, settled', failpoint: 'refund.settled', who: 'worker-1', provoke: late },
  { of: 'sweep, armed and nothing drained', failpoint: 'sweep.armed@2', who: 'worker-1' },
];

/** Of the sender of webhooks: its one shop hears each event, and each order's in their order. */
const SENDER_POINTS: readonly KillPoint[] = [
  { of: 'webhooks out, written down and not committed', failpoint: 'delivery.written@3' },
  { of: 'webhooks out, claimed and not sent', failpoint: 'delivery.claimed@3' },
  { of: 'webhooks out, taken by the shop and not noted', failpoint: 'delivery.answered@3' },
].map((point) => ({ ...point, who: 'worker-1' }));

export const CRASH_FAULTS: readonly Fault[] = [
  ...KILL_POINTS.map((point): Fault => ({
    area: 'kill -9',
    name: point.of,
    quick: point.quick ?? false,
    run: (step) => crash(step, point),
  })),
  ...SENDER_POINTS.map((point): Fault => ({
    area: 'kill -9',
    name: point.of,
    run: (step) => crashSender(step, point),
  })),
  { area: 'kill -9', name: 'backfill, between two batches, then run again', run: crashBackfill },
];

/** Nobody else could do the work: the other worker is away until the first has died of it. */
async function crash(step: Step, { failpoint, who, provoke }: KillPoint): Promise<string> {
  const { rig } = step;
  for (const name of new Set([who, 'worker-2'])) await rig.process(name).stop();
  const env = { FAILPOINT: failpoint };
  const dying = await rig.start({ name: who, roles: who === 'api' ? 'api' : 'worker', env });
  // Its webhooks must come to the dying API, and refunds to the dying worker.
  await until(
    `it dies at ${failpoint}`,
    async () => {
      if (dying.isRunning) await provoke?.(step).catch(() => undefined);
      return !dying.isRunning;
    },
    allowed(45_000),
  );
  assert(dying.isKilled, dying.endedByItself ?? 'it was asked to end');
  rig.forget(who);
  await step.client.healProvider();
  await step.heal(() => step.backToUsual());
  return `died at ${failpoint}; resumed after its restart`;
}

async function crashSender(step: Step, point: KillPoint): Promise<string> {
  const system = await hearWebhooks(step);
  try {
    const died = await crash(step, point);
    return `${died}; ${await system.heardAll()}`;
  } finally {
    await system.close();
  }
}

async function crashBackfill(step: Step): Promise<string> {
  const { rig } = step;
  const first = rig.backfill({ FAILPOINT: 'backfill.armed@2' });
  await first.ended();
  assert(first.isKilled, 'it did not die of its failpoint');
  const second = rig.backfill({});
  await second.ended();
  assert(second.log.includes('backfilled'), `the second run failed: ${second.log.slice(-500)}`);
  await step.heal();
  await step.alarmsAreBack();
  return 'died after its second batch; run again, it went through';
}
