import type { Tx } from '@app/timeout';
import type { HostTx } from '@app/timeout/module';
import type { TargetPayment } from './close-target';
import type { WaitingWebhook } from './target-inbox';
import { type TargetParts, targetOf } from './target-parts';

export interface Owner {
  readonly kind: string;
  readonly payment: TargetPayment;
}

export interface OwnedWebhook {
  readonly webhook: WaitingWebhook;
  /** Of one target each, unless the shop has a bug. */
  readonly owners: readonly Owner[];
}

/**
 * Whose payments these webhooks are about. All targets are asked about all of them, and one that fails
 * has none: that is told of where others have all, and thrown where one of these may be its own.
 */
export async function ownersOf(
  parts: TargetParts,
  tx: HostTx,
  webhooks: readonly WaitingWebhook[],
): Promise<readonly OwnedWebhook[]> {
  const owned = webhooks.map((webhook) => ({ webhook, owners: [] as Owner[] }));
  const ids = [...new Set(webhooks.flatMap(({ notice }) => paymentIdOf(notice) ?? []))];
  if (ids.length === 0) return owned;
  const failures: (readonly [kind: string, error: unknown])[] = [];
  for (const kind of kindsOf(parts)) {
    const find = (aside: Tx) => targetOf(parts, kind).findPayments(ids, aside);
    const found = await tx.aside(find).catch((error: unknown) => {
      failures.push([kind, error]);
      return [];
    });
    for (const { webhook, owners } of owned) {
      const { provider, notice } = webhook;
      const paymentId = paymentIdOf(notice);
      // A provider may speak of its own payments only.
      const payment = found.find((one) => one.paymentId === paymentId && one.provider === provider);
      if (payment) owners.push({ kind, payment });
    }
  }
  for (const [kind, error] of failures) {
    if (owned.some(({ owners }) => owners.length === 0)) throw error;
    tx.afterCommit(() => parts.telemetry.failed(`findPayments of "${kind}"`, error));
  }
  return owned;
}

/** In one order everywhere: that in which all lock. */
export const kindsOf = ({ targets }: TargetParts): string[] => [...targets.keys()].sort();

const paymentIdOf = (notice: WaitingWebhook['notice']): string | undefined =>
  'paymentId' in notice ? notice.paymentId : undefined;
