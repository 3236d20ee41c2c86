import type { Tx } from '@app/timeout';
import type { TimeoutRuntime, Timeouts } from '@app/timeout/module';
import type { OrdersTelemetry } from '../order/telemetry';
import type { PaymentProviders } from '../providers/payment-providers';
import type { CheckedTarget } from './checked-target';
import type { TargetOrders } from './target-orders';
import type { TargetPayments } from './target-payments';
import { nowMsBy } from './target-sql';

/** What closing the orders of a shop's own tables is made of. */
export interface TargetParts {
  readonly runtime: TimeoutRuntime;
  readonly timeouts: Timeouts;
  readonly targets: ReadonlyMap<string, CheckedTarget>;
  readonly orders: TargetOrders;
  readonly payments: TargetPayments;
  readonly providers: PaymentProviders;
  readonly telemetry: OrdersTelemetry;
  readonly latePayment: 'refund' | 'hold';
}

/** Injection token of the {@link TargetParts}. */
export const TARGET_PARTS = Symbol('TargetParts');

/** Deadlines that we keep beside those of the shop's own kind. */
export const WEBHOOK_KIND = 'lastcall.webhook';
export const REFUND_KIND = 'lastcall.refund';
/** Providers are asked about what is behind the fence of a kind by deadlines of this one. */
export const askingKind = (kind: string): string => `${kind}.closing`;

/** What somebody was just changing is looked at again after this. */
export const BUSY_AGAIN_MS = 500;
/**
 * So long what follows a commit waits for a lock, by connections that webhooks and customers need as well: it
 * comes back by its deadline, however many need what somebody holds.
 */
export const FOLLOW_UP_LOCK_LIMIT = '20ms';

/** @throws {TypeError} for a kind that is no target's */
export function targetOf({ targets }: TargetParts, kind: string): CheckedTarget {
  const target = targets.get(kind);
  if (target) return target;
  throw new TypeError(
    `No close target of kind "${kind}"; there are: ${[...targets.keys()].join(', ')}`,
  );
}

/** Arms a kind for these subjects, so long after the database's now. */
export async function armIn(
  { timeouts }: TargetParts,
  tx: Tx,
  kind: string,
  delays: readonly { readonly subjectId: string; readonly inMs: number }[],
): Promise<void> {
  if (delays.length === 0) return;
  const nowMs = await nowMsBy(tx);
  await timeouts.arm(
    tx,
    delays.map(({ subjectId, inMs }) => ({ kind, subjectId, dueAt: new Date(nowMs + inMs) })),
  );
}
