import { inTransaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type QueryRunner } from 'typeorm';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
import { type Accountable, recordAction } from '../order/operator-action';
import { OrderGuard } from '../order/order-guard';
import type { LedgerPayment, PaymentProvider } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { oursOnly, PAGE, query, readOurs } from './reconcile-books';
import { comparePayment, type Finding, type Fix } from './reconcile.judgement';
import { ForeignMoney } from '../money/foreign-money';
import { RecordCaptures } from '../money/record-captures';
import { SettleRefunds } from '../money/settle-refunds';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/** A difference between our books and the provider's ledger. */
export interface Difference extends Omit<Finding, 'fix'> {
  /** True when `fix` would settle it: only one thing can be right. */
  readonly fixable: boolean;
  /** True when it was settled now. */
  readonly fixed: boolean;
}

export interface ReconcileRequest {
  readonly since: Date;
  /** Settles what has one safe answer, for this operator; the rest is only told of. */
  readonly fixFor?: Accountable | undefined;
  readonly onDifference: (difference: Difference) => void | Promise<void>;
  /** Stops between two pages. */
  readonly signal?: AbortSignal | undefined;
}

export interface ReconcileCounts {
  /** Payments compared, of either side. */
  readonly checked: number;
  readonly differences: number;
  /** How many of the differences were settled. */
  readonly fixed: number;
}

/** How far the provider's clock may be behind ours. */
const CLOCK_SKEW_MS = 300_000;
/** What the daily run looks at: a week, so that several runs see each payment. */
const DAILY_SPAN_MS = 7 * 86_400_000;
/** Who settles at night. */
const NIGHTLY: Accountable = { actor: 'lastcall', reason: 'nightly reconciliation' };
/** Any two numbers that nobody else locks. */
const LOCK = '2, 1';

/**
 * Compares our payments and refunds with the provider's ledger. Both are read in pages and nothing
 * is kept in memory: which payments the ledger had is noted in a temporary table.
 */
@Injectable()
export class Reconcile {
  #lastDifferences: number | null = null;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly captures: RecordCaptures,
    private readonly refunds: SettleRefunds,
    private readonly foreign: ForeignMoney,
    private readonly providers: PaymentProviders,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** Differences that the last run of this process left, or null when it has made none. */
  get lastDifferences(): number | null {
    return this.#lastDifferences;
  }

  /** @throws {LastcallError} provider_error when the ledger cannot be read to its end */
  async run(request: ReconcileRequest): Promise<ReconcileCounts> {
    const runner = this.dataSource.createQueryRunner();
    try {
      return await this.#run(runner, request);
    } finally {
      await runner.query('DROP TABLE IF EXISTS pg_temp.seen_payments').catch(() => undefined);
      await runner.release();
    }
  }

  /** The daily run: settles what has one safe answer, and raises an alert for the rest. */
  async runOnce(signal?: AbortSignal): Promise<ReconcileCounts> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const [turn] = await query<{ mine: boolean }>(
        runner,
        `SELECT pg_try_advisory_lock(${LOCK}) AS mine`,
      );
      // Another worker is at it; its figures are enough.
      if (!turn?.mine) return { checked: 0, differences: 0, fixed: 0 };
      const since = new Date(Date.now() - DAILY_SPAN_MS);
      const onDifference = (): void => undefined;
      const counts = await this.run({ since, fixFor: NIGHTLY, onDifference, signal });
      if (signal?.aborted) return counts;
      this.#lastDifferences = counts.differences - counts.fixed;
      if (this.#lastDifferences > 0) this.telemetry.alert('reconcile_differences', { ...counts });
      return counts;
    } finally {
      await runner.query(`SELECT pg_advisory_unlock(${LOCK})`).catch(() => undefined);
      await runner.release();
    }
  }

  async #run(runner: QueryRunner, request: ReconcileRequest): Promise<ReconcileCounts> {
    const counts = { checked: 0, differences: 0, fixed: 0 };
    const { fixFor } = request;
    const tell = async (finding: Finding): Promise<void> => {
      const { fix, ...difference } = finding;
      const fixed = fixFor !== undefined && fix !== undefined && (await this.#fix(fix, fixFor));
      counts.differences += 1;
      counts.fixed += fixed ? 1 : 0;
      await request.onDifference({ ...difference, fixable: fix !== undefined, fixed });
    };
    const [clock] = await query<{ now: Date }>(runner, 'SELECT now() AS now');
    const startedAt = (clock as { now: Date }).now;
    await runner.query('CREATE TEMP TABLE seen_payments (id uuid PRIMARY KEY)');
    for (const provider of this.providers.all) {
      for await (const page of ledgerPages(provider, request)) {
        const ours = await readOurs(runner, provider.name, page);
        counts.checked += page.length;
        for (const theirs of page) {
          for (const finding of comparePayment(ours(theirs), theirs)) await tell(finding);
        }
      }
      for await (const finding of oursOnly(runner, provider.name, request, startedAt)) {
        counts.checked += 1;
        await tell(finding);
      }
      await runner.query('TRUNCATE pg_temp.seen_payments');
    }
    return counts;
  }

  /** True when our books say the same as the provider now. */
  async #fix(fix: Fix, operator: Accountable): Promise<boolean> {
    if (fix.type === 'refund') {
      const { refundId, attempt, answer } = fix;
      return inTransaction(this.dataSource, async (tx) => {
        const isSettled = await this.refunds.settle(tx, refundId, attempt, answer, 'reconcile');
        if (isSettled) await recordAction(tx, 'reconcile.settle', 'refund', [refundId], operator);
        return isSettled;
      });
    }
    if (fix.type === 'foreign') return this.#fixForeign(fix, operator);
    const { orderId, capture } = fix;
    try {
      return await this.guard.withOrder(orderId, async (_order, tx) => {
        const [outcome] = await this.captures.record(tx, [capture], 'reconcile');
        if (outcome === 'unknown_payment' || outcome === 'busy') return false;
        // Known: its webhook came while the books were compared, and nothing is left to settle.
        if (outcome !== 'known') {
          await recordAction(tx, 'reconcile.settle', 'payment', [capture.paymentId], operator);
        }
        return true;
      });
    } catch (error) {
      // Somebody is changing this order: the next run sees what came of it.
      if (error instanceof LastcallError && error.code === 'busy') return false;
      throw error;
    }
  }

  async #fixForeign(
    fix: Extract<Fix, { type: 'foreign' }>,
    operator: Accountable,
  ): Promise<boolean> {
    return inTransaction(this.dataSource, async (tx) => {
      const outcome = await this.foreign.record(tx, fix.move, 'reconcile');
      if (outcome === 'recorded') {
        await recordAction(tx, 'reconcile.settle', 'payment', [fix.move.paymentId], operator);
      }
      return outcome === 'recorded' || outcome === 'known';
    });
  }
}

async function* ledgerPages(
  provider: PaymentProvider,
  { since, signal }: ReconcileRequest,
): AsyncGenerator<LedgerPayment[]> {
  let page: LedgerPayment[] = [];
  for await (const payment of provider.ledger(new Date(since.getTime() - CLOCK_SKEW_MS))) {
    page.push(payment);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
    if (signal?.aborted) return;
  }
  if (page.length > 0) yield page;
}
