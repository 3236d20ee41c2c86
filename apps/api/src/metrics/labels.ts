import type { OrdersTelemetry, WebhookResult } from '@app/orders';

/** More distinct values of one label than any code of ours has: a bug must not fill the memory. */
const MAX_LABEL_VALUES = 50;

export type LockOutcome = Parameters<OrdersTelemetry['locked']>[0];

/** What there may be of each label, as far as dashboards and alerts look at it. */
export const CLOSED_BY = ['timer', 'sweep', 'passive', 'customer', 'operator'] as const;
export const LOCK_OUTCOMES = { held: 0, contended: 0, degraded: 0 } satisfies Record<
  LockOutcome,
  0
>;
export const WEBHOOK_RESULTS = {
  ...{ processed: 0, duplicate: 0, held: 0, deferred: 0, failed: 0 },
  ...{ bad_signature: 0, stale_timestamp: 0, malformed: 0 },
} satisfies Record<WebhookResult, 0>;

/** Values of labels, up to so many of each. */
export class BoundedLabels {
  readonly #values = new Map<string, Set<string>>();

  /** The value, or `other` where the label has too many. */
  bounded(label: string, value: string): string {
    const values = this.#values.get(label) ?? new Set();
    this.#values.set(label, values);
    if (values.size < MAX_LABEL_VALUES) values.add(value);
    return values.has(value) ? value : 'other';
  }
}
