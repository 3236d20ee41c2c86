import { failpoint, TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { type CaptureJudgement, judgeCapture } from './capture.judgement';
import type { PaymentStatus } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import type { OrderStatus } from '../order/order.lifecycle';
import { lockProducts, reserve, sumBySku, takeAll } from '../stock/products';
import type { CapturedMoney } from '../providers/payment-provider';
import { requestRefunds } from './request-refunds';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/** Money a provider says it took, by webhook or by answer. */
export interface Capture {
  readonly paymentId: string;
  readonly providerPaymentId: string;
  readonly money: CapturedMoney;
}

/** What became of a capture; `unknown_payment` when it is for no payment of ours. */
export type CaptureOutcome = CaptureJudgement['verdict'] | 'unknown_payment';

interface CaptureRow {
  payment_id: string;
  payment_status: PaymentStatus;
  provider_payment_id: string | null;
  captured_amount: string | null;
  captured_currency: string | null;
  amount: string;
  currency: string;
  order_id: string;
  status: OrderStatus;
  close_reason: string | null;
  closes_at: Date | null;
  late_payment: 'refund' | 'revive' | 'hold';
}

interface Judged {
  readonly capture: Capture;
  readonly row: CaptureRow;
  readonly judgement: CaptureJudgement;
}

/**
 * Records captured money and decides about it, for a set of captures, in one transaction. The
 * caller holds the orders' locks where it can; the rows are locked here in any case.
 */
@Injectable()
export class RecordCaptures {
  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** One outcome for each capture, in their order. */
  async record(tx: Transaction, captures: readonly Capture[]): Promise<CaptureOutcome[]> {
    const outcomes = new Map<Capture, CaptureOutcome>();
    // Several captures for one order are judged one after the other: the second sees the first.
    for (let rest = [...captures]; rest.length > 0;) {
      const rows = await lockRows(tx, rest);
      const orders = new Set<string>();
      const wave: Judged[] = [];
      const later: Capture[] = [];
      for (const capture of rest) {
        const row = rows.get(capture.paymentId);
        if (!row) outcomes.set(capture, 'unknown_payment');
        else if (orders.has(row.order_id)) later.push(capture);
        else {
          orders.add(row.order_id);
          wave.push({ capture, row, judgement: judge(capture, row) });
        }
      }
      for (const [capture, outcome] of await this.#settle(tx, wave)) outcomes.set(capture, outcome);
      rest = later;
    }
    return captures.map((capture) => outcomes.get(capture) as CaptureOutcome);
  }

  async #settle(tx: Transaction, wave: readonly Judged[]): Promise<Map<Capture, CaptureOutcome>> {
    await recordMoney(tx, wave.filter(isNewMoney));
    await markChanged(tx, wave);
    await failpoint('capture.recorded');
    for (const from of ['pending_payment', 'closing'] as const) await this.#pay(tx, wave, from);
    const unrevived = await this.#revive(tx, wave);
    await this.#refund(tx, wave, unrevived);
    for (const { row, judgement } of wave) {
      if (judgement.verdict !== 'hold') continue;
      tx.afterCommit(() =>
        this.telemetry.alert('money_on_hold', {
          paymentId: row.payment_id,
          orderId: row.order_id,
          reason: judgement.reason,
        }),
      );
    }
    return new Map(
      wave.map((one) => [one.capture, unrevived.has(one) ? 'refund' : one.judgement.verdict]),
    );
  }

  async #pay(
    tx: Transaction,
    wave: readonly Judged[],
    from: 'pending_payment' | 'closing',
  ): Promise<void> {
    const orderIds = wave.flatMap(({ row, judgement }) =>
      judgement.verdict === 'pay' && judgement.from === from ? [row.order_id] : [],
    );
    const paid = await this.guard.change(tx, { from, to: 'paid', orderIds, by: 'provider' });
    if (paid.length !== orderIds.length) {
      throw new Error('An order changed while its row was locked');
    }
    await this.#endOtherPayments(tx, orderIds);
    if (from === 'closing') {
      tx.afterCommit(() => orderIds.forEach(() => this.telemetry.race('payment')));
    }
  }

  /** A paid order needs no other payment: those still open are ended at the provider. */
  async #endOtherPayments(tx: Transaction, orderIds: readonly string[]): Promise<void> {
    if (orderIds.length === 0) return;
    const rows = await tx.hot<{ order_id: string; now: Date }>(
      `SELECT DISTINCT order_id, now() AS now FROM payments
        WHERE order_id = ANY ($1::uuid[]) AND status = 'open'`,
      [orderIds],
    );
    await this.timeouts.arm(
      tx,
      rows.map((row) => ({
        kind: 'closing',
        subjectId: row.order_id,
        dueAt: row.now,
        version: 1,
      })),
    );
  }

  async #refund(
    tx: Transaction,
    wave: readonly Judged[],
    unrevived: ReadonlySet<Judged>,
  ): Promise<void> {
    const refunds = wave.flatMap((one) => {
      const { judgement, row, capture } = one;
      const reason = unrevived.has(one)
        ? ('late_payment' as const)
        : judgement.verdict === 'refund'
          ? judgement.reason
          : undefined;
      if (!reason) return [];
      const { amount, currency } = capture.money;
      return [{ paymentId: row.payment_id, reason, amount, currency }];
    });
    await requestRefunds(tx, this.timeouts, refunds);
    const late = refunds.filter(({ reason }) => reason === 'late_payment').length;
    tx.afterCommit(() => {
      for (let i = 0; i < late; i++) this.telemetry.race('close');
    });
  }

  /** Reopens closed orders as paid where stock can be had again; answers with those where not. */
  async #revive(tx: Transaction, wave: readonly Judged[]): Promise<Set<Judged>> {
    const failed = new Set<Judged>();
    for (const one of wave) {
      if (one.judgement.verdict !== 'revive') continue;
      const orderId = one.row.order_id;
      const lines = await tx.rows<{ sku: string; quantity: number }>(
        'SELECT sku, quantity FROM order_items WHERE order_id = $1 ORDER BY sku',
        [orderId],
      );
      const products = await lockProducts(
        tx,
        lines.map(({ sku }) => sku),
      );
      if (takeAll(products, lines).missing !== undefined) {
        failed.add(one);
        continue;
      }
      await reserve(tx, sumBySku(lines));
      await this.guard.change(tx, {
        from: 'closed',
        to: 'paid',
        orderIds: [orderId],
        by: 'provider',
        reason: 'revived',
      });
    }
    return failed;
  }
}

function judge(capture: Capture, row: CaptureRow): CaptureJudgement {
  return judgeCapture(
    {
      paymentStatus: row.payment_status,
      providerPaymentId: row.provider_payment_id,
      amount: Number(row.amount),
      currency: row.currency,
      captured:
        row.captured_amount === null || row.captured_currency === null
          ? null
          : { amount: Number(row.captured_amount), currency: row.captured_currency },
      orderStatus: row.status,
      closesAt: row.closes_at,
      closedByTimeout: row.close_reason === 'payment_timeout',
      latePayment: row.late_payment,
    },
    capture,
  );
}

/** Money that belongs into the payment's row. What was taken for another payment does not. */
function isNewMoney({ judgement, row }: Judged): boolean {
  const isElsewhere = judgement.verdict === 'hold' && judgement.reason === 'reference_mismatch';
  return row.payment_status !== 'succeeded' && !isElsewhere;
}

/** Locks the orders' rows in id order, then reads them with their payments afresh. */
async function lockRows(
  tx: Transaction,
  captures: readonly Capture[],
): Promise<Map<string, CaptureRow>> {
  const paymentIds = captures.map(({ paymentId }) => paymentId);
  await tx.hot(
    `SELECT 1 FROM orders
      WHERE id = ANY (ARRAY(SELECT order_id FROM payments WHERE id = ANY ($1::uuid[])))
      ORDER BY id FOR NO KEY UPDATE`,
    [paymentIds],
  );
  const rows = await tx.hot<CaptureRow>(
    `SELECT p.id AS payment_id, p.status AS payment_status, p.amount, p.currency, p.order_id,
            p.provider_payment_id, p.captured_amount, p.captured_currency, o.status, o.close_reason, o.closes_at, o.late_payment
       FROM payments p JOIN orders o ON o.id = p.order_id WHERE p.id = ANY ($1::uuid[])`,
    [paymentIds],
  );
  return new Map(rows.map((row) => [row.payment_id, row]));
}

/** Money is recorded first, whatever is decided about it; it never becomes unrecorded. */
async function recordMoney(tx: Transaction, wave: readonly Judged[]): Promise<void> {
  if (wave.length === 0) return;
  await tx.hot(
    `UPDATE payments p
        SET status = 'succeeded', captured_amount = c.amount, captured_currency = c.currency,
            paid_at = c.paid_at, recorded_at = now(), hold_reason = c.hold_reason,
            provider_payment_id = coalesce(p.provider_payment_id, c.provider_payment_id)
       FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::timestamptz[], $6::text[])
         AS c (id, provider_payment_id, amount, currency, paid_at, hold_reason)
      WHERE p.id = c.id AND p.status <> 'succeeded'`,
    [
      wave.map(({ row }) => row.payment_id),
      wave.map(({ capture }) => capture.providerPaymentId),
      wave.map(({ capture }) => capture.money.amount),
      wave.map(({ capture }) => capture.money.currency),
      wave.map(({ capture }) => capture.money.paidAt),
      wave.map(({ judgement }) => (judgement.verdict === 'hold' ? judgement.reason : null)),
    ],
  );
}

/** A payment whose provider changed its mind about the amount keeps what was recorded, on hold. */
async function markChanged(tx: Transaction, wave: readonly Judged[]): Promise<void> {
  const ids = wave.flatMap(({ row, judgement }) =>
    judgement.verdict === 'hold' && judgement.reason === 'capture_changed' ? [row.payment_id] : [],
  );
  if (ids.length === 0) return;
  await tx.rows(
    `UPDATE payments SET hold_reason = coalesce(hold_reason, 'capture_changed')
      WHERE id = ANY ($1::uuid[])`,
    [ids],
  );
}
