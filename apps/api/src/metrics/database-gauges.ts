import type { GaugesView } from '@app/orders';
import type { Gauge } from 'prom-client';
import type { Metrics } from './metrics';

type Readings = Partial<GaugesView>;

/** A gauge of one number; `read` has nothing where the database could not tell. */
interface Single {
  readonly name: string;
  readonly help: string;
  readonly read: (readings: Readings) => number | boolean | null | undefined;
}

/** A gauge with a number for each value of a label; none where the database could not tell. */
interface Labelled {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly read: (readings: Readings) => readonly (readonly [value: string, number: number])[];
}

const SINGLE: readonly Single[] = [
  {
    name: 'overdue_deadlines',
    help: 'Deadlines that have passed, not handled',
    read: ({ overdueDeadlines }) => overdueDeadlines,
  },
  {
    name: 'oldest_overdue_seconds',
    help: 'By how much the most overdue deadline is so',
    read: ({ oldestOverdueSeconds }) => oldestOverdueSeconds,
  },
  {
    name: 'event_relay_age_seconds',
    help: 'Age of the oldest order event that has not been relayed',
    read: ({ relayAgeSeconds }) => relayAgeSeconds,
  },
  {
    name: 'oldest_closing_seconds',
    help: 'How long the order that waits longest for the payment provider has been closing',
    read: ({ oldestClosingSeconds }) => oldestClosingSeconds,
  },
  {
    name: 'oldest_unsent_refund_seconds',
    help: 'Age of the oldest refund that no provider has been told of',
    read: ({ oldestUnsentRefundSeconds }) => oldestUnsentRefundSeconds,
  },
  {
    name: 'unfolded_stock_movements',
    help: 'Stock movements that are not in the counters of their products yet',
    read: ({ unfoldedStockMovements }) => unfoldedStockMovements,
  },
  {
    name: 'oldest_unfolded_stock_movement_seconds',
    help: 'Age of the oldest stock movement that is not in the counters of its product yet',
    read: ({ oldestUnfoldedStockSeconds }) => oldestUnfoldedStockSeconds,
  },
  {
    name: 'automatic_refunds_ahead',
    help: 'Paid orders that are canceled and refunded within three days unless they are shipped',
    read: ({ automaticRefundsAhead }) => automaticRefundsAhead,
  },
  {
    name: 'timeouts_stopped',
    help: '1 while timeouts have stopped by themselves',
    read: ({ timeoutsStopped }) => timeoutsStopped,
  },
  {
    name: 'reconcile_differences',
    help: 'Differences from the ledgers of the providers that the newest comparison of a week has left open',
    read: ({ reconcileDifferences }) => reconcileDifferences,
  },
  {
    name: 'reconcile_age_seconds',
    help: 'How long ago the newest comparison of a week began that came to its end, where there is one each night',
    read: ({ reconcileAgeSeconds }) => reconcileAgeSeconds,
  },
];

const LABELLED: readonly Labelled[] = [
  {
    name: 'refunds',
    help: 'Refunds by status',
    label: 'status',
    read: ({ refunds = {} }) => Object.entries(refunds),
  },
  {
    name: 'waiting',
    help: 'What waits for a person, or may come to (runbook)',
    label: 'what',
    read: ({ waits = {} }) => Object.entries(waits).map(([what, { count }]) => [what, count]),
  },
  {
    name: 'oldest_wait_seconds',
    help: 'Age of the oldest that waits; 0 when none does',
    label: 'what',
    read: ({ waits = {} }) =>
      Object.entries(waits).map(([what, { oldestSeconds }]) => [what, oldestSeconds]),
  },
  {
    name: 'on_hold',
    help: 'What waits for an operator to decide',
    label: 'what',
    read: ({ onHold = {} }) => Object.entries(onHold),
  },
  {
    name: 'invariant_violations',
    help: 'Violations of an invariant, as of the last run of this worker; 0, always',
    label: 'invariant',
    read: ({ invariants = [] }) =>
      invariants.map(({ name, violations }) => [name, violations ?? NaN]),
  },
];

/** What only the database knows, as gauges. */
export class DatabaseGauges {
  readonly #single: readonly (Single & { readonly gauge: Gauge })[];
  readonly #labelled: readonly (Labelled & { readonly gauge: Gauge<string> })[];

  constructor(metrics: Metrics) {
    this.#single = SINGLE.map((one) => ({ ...one, gauge: metrics.gauge(one.name, one.help) }));
    this.#labelled = LABELLED.map((one) => ({
      ...one,
      gauge: metrics.gauge(one.name, one.help, [one.label]),
    }));
  }

  /** NaN for what it cannot tell. */
  set(readings: Readings): void {
    for (const { gauge, read } of this.#single) gauge.set(Number(read(readings) ?? NaN));
    for (const { gauge, label, read } of this.#labelled) {
      gauge.reset();
      for (const [value, number] of read(readings)) gauge.set({ [label]: value }, number);
    }
  }
}
