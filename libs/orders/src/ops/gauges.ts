import { countOverdue, TimeoutService, withTimeLimit } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { countRefunds } from '../money/count-refunds';
import { type InvariantReading, WatchInvariants } from '../invariants/watch-invariants';
import { RELAY_IS_STUCK } from '../order/event-tx';
import type { RefundStatus } from '../order/order';
import { DEADLINE_KINDS } from '../order/deadline-table';
import { onDataSource } from '../order/order-rows';
import { readHeld } from './overview';
import { readWaits, type WaitReadings } from './waits';
import { type ReconcileGauges, readReconcileGauges } from '../reconciling/reconcile-gauges';
import { countRefundsAhead } from '../fulfilment/warn-shipments';
import { readUnfolded } from '../stock/fold-stock';

export interface GaugesView extends ReconcileGauges {
  readonly overdueDeadlines: number;
  /** By how much the most overdue deadline is so; 0 when none is. */
  readonly oldestOverdueSeconds: number;
  /** Above 10,000, `succeeded` is an estimate: see `countRefunds`. */
  readonly refunds: Readonly<Record<RefundStatus, number>>;
  /** Age of the oldest event that has not been relayed; 0 when none waits. */
  readonly relayAgeSeconds: number;
  /** How long the order that waits longest for the provider has been in `closing`; 0 when none. */
  readonly oldestClosingSeconds: number;
  /** Age of the oldest refund that no provider has been told of; 0 when none waits. */
  readonly oldestUnsentRefundSeconds: number;
  /** Everything that waits for a person, or may come to. */
  readonly waits: WaitReadings;
  /** Paid orders that are canceled and refunded within three days unless they are shipped. */
  readonly automaticRefundsAhead: number;
  /** Stock movements that are not in the counters of their products yet; 100,000 and more are that. */
  readonly unfoldedStockMovements: number;
  /** Age of the oldest of them; 0 when none waits. */
  readonly oldestUnfoldedStockSeconds: number;
  /** What waits for an operator's decision. */
  readonly onHold: {
    readonly payments: number;
    readonly webhooks: number;
    readonly deadlines: number;
  };
  /** Timeouts have stopped by themselves. */
  readonly timeoutsStopped: boolean;
  /** What this process found when it last ran the invariants; empty when it has not. */
  readonly invariants: readonly InvariantReading[];
}

/** What was read of them, and the errors for which the others were not. */
export interface GaugesRead {
  readonly readings: Partial<GaugesView>;
  readonly failures: readonly unknown[];
}

/** Figures for the metrics endpoint; cheap enough for every scrape. */
@Injectable()
export class Gauges {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly invariants: WatchInvariants,
    private readonly timeouts: TimeoutService,
  ) {}

  async read(): Promise<GaugesView> {
    const parts = await Promise.all(this.#parts.map((part) => part()));
    return Object.assign({}, ...parts) as GaugesView;
  }

  /** Those that can be read within `limitMs`, and why others cannot: somebody may have locked one table of all. */
  async readWhatCanBe(limitMs: number): Promise<GaugesRead> {
    const reading = this.#parts.map((part) =>
      withTimeLimit(part(), limitMs, 'the gauges were not read'),
    );
    const parts = await Promise.allSettled(reading);
    return {
      readings: Object.assign(
        {},
        ...parts.map((part) => (part.status === 'fulfilled' ? part.value : {})),
      ) as Partial<GaugesView>,
      failures: parts.flatMap((part) =>
        part.status === 'rejected' ? [part.reason as unknown] : [],
      ),
    };
  }

  readonly #parts: readonly (() => Promise<Partial<GaugesView>>)[] = [
    async () => {
      const { overdue, oldestLagMs } = await countOverdue(this.dataSource, DEADLINE_KINDS);
      const oldestOverdueSeconds = Math.max(0, oldestLagMs / 1_000);
      return { overdueDeadlines: overdue, oldestOverdueSeconds };
    },
    async () => ({ refunds: await countRefunds(onDataSource(this.dataSource)) }),
    async () => {
      const waits = await readWaits(onDataSource(this.dataSource));
      return {
        waits,
        oldestClosingSeconds: waits.closing.oldestSeconds,
        oldestUnsentRefundSeconds: waits.refund_unsent.oldestSeconds,
      };
    },
    async () => {
      const { movements, oldestSeconds } = await readUnfolded(onDataSource(this.dataSource));
      return { unfoldedStockMovements: movements, oldestUnfoldedStockSeconds: oldestSeconds };
    },
    async () => ({ relayAgeSeconds: await readRelayAge(this.dataSource) }),
    async () => ({
      automaticRefundsAhead: await countRefundsAhead(onDataSource(this.dataSource)),
    }),
    async () => {
      const { heldPayments, heldWebhooks, heldDeadlines } = await readHeld(this.dataSource);
      return {
        onHold: { payments: heldPayments, webhooks: heldWebhooks, deadlines: heldDeadlines },
      };
    },
    async () => ({ timeoutsStopped: await this.timeouts.brake.isEngaged() }),
    () => readReconcileGauges(onDataSource(this.dataSource)),
    () => Promise.resolve({ invariants: this.invariants.last }),
  ];
}

/** While the relay cannot see what is new at all, the time since it has last relayed something. */
export async function readRelayAge(dataSource: DataSource): Promise<number> {
  const [row] = await onDataSource(dataSource).rows<{ age: string | null }>(
    `SELECT extract(epoch FROM now() - least(
              (SELECT at FROM order_events
                WHERE tx >= c.tx_from AND (tx >= c.tx_until OR id > c.last_id)
                ORDER BY tx LIMIT 1),
              CASE WHEN ${RELAY_IS_STUCK} THEN c.relayed_at END)) AS age
       FROM relay_cursor c`,
  );
  return Math.max(0, Number(row?.age ?? 0));
}
