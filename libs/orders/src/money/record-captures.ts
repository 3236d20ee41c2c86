import { failpoint, TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { uuidv7 } from '../order/uuid';
import { type CaptureJudgement, type HoldReason, judgeCapture } from './capture.judgement';
import type { PaymentStatus } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import type { OrderStatus } from '../order/order.lifecycle';
import {
  foldWhereShort,
  type LockedProduct,
  lockProducts,
  reserve,
  sumBySku,
  takeAll,
} from '../stock/products';
import type { CapturedMoney } from '../providers/payment-provider';
import { ForeignMoney } from './foreign-money';
import { type Movement, type MovementSource, recordMovements } from './movements';
import { requestRefunds } from './request-refunds';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/** Money a provider says it took, by webhook or by answer. */
export interface Capture {
  readonly paymentId: string;
  readonly providerPaymentId: string;
  readonly money: CapturedMoney;
}

/**
 * What became of a capture; `unknown_payment` when it is for no payment of ours. `busy`: somebody
 * holds a product of the order that it would revive, so nothing was done, and it has to be told again.
 */
export type CaptureOutcome = CaptureJudgement['verdict'] | 'unknown_payment' | 'busy';

interface CaptureRow {
  payment_id: string;
  provider: string;
  payment_status: PaymentStatus;
  provider_payment_id: string | null;
  captured_amount: string | null;
  captured_currency: string | null;
  hold_reason: string | null;
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
    private readonly foreign: ForeignMoney,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** One outcome for each capture, in their order; `source` is who told of them. */
  async record(
    tx: Transaction,
    captures: readonly Capture[],
    source: MovementSource,
  ): Promise<CaptureOutcome[]> {
    const outcomes = new Map<Capture, CaptureOutcome>();
    // Several captures for one order are judged one after the other: the second sees the first.
    for (let rest = [...captures]; rest.length > 0;) {
      const rows = await lockRows(tx, rest);
      const orders = new Set<string>();
      const wave: Judged[] = [];
      const later: Capture[] = [];
      for (const capture of rest) {
        const row = rows.get(capture);
        if (!row) outcomes.set(capture, 'unknown_payment');
        else if (orders.has(row.order_id)) later.push(capture);
        else {
          orders.add(row.order_id);
          wave.push({ capture, row, judgement: judge(capture, row) });
        }
      }
      for (const [capture, outcome] of await this.#settle(tx, wave, source)) {
        outcomes.set(capture, outcome);
      }
      rest = later;
    }
    return captures.map((capture) => outcomes.get(capture) as CaptureOutcome);
  }

  async #settle(
    tx: Transaction,
    judged: readonly Judged[],
    source: MovementSource,
  ): Promise<Map<Capture, CaptureOutcome>> {
    const { stock, busy } = await lockStock(tx, judged);
    const free = judged.filter((one) => !busy.has(one));
    const wave = await keepStrays(tx, await settleClaims(tx, free, source));
    await recordMoney(tx, wave.filter(isNewMoney), source);
    await failpoint('capture.recorded');
    for (const from of ['pending_payment', 'closing'] as const) await this.#pay(tx, wave, from);
    const unrevived = await this.#revive(tx, wave, stock);
    await this.#refund(tx, wave, unrevived);
    await this.#settleEarlierMoves(tx, wave);
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
    const outcomes = new Map<Capture, CaptureOutcome>(
      [...busy].map(({ capture }) => [capture, 'busy']),
    );
    for (const one of wave) {
      outcomes.set(one.capture, unrevived.has(one) ? 'refund' : one.judgement.verdict);
    }
    return outcomes;
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

  /** Money that was refunded or disputed before its capture was told of. */
  async #settleEarlierMoves(tx: Transaction, wave: readonly Judged[]): Promise<void> {
    const rows = await tx.hot<{ order_id: string }>(
      `SELECT DISTINCT order_id FROM money_movements
        WHERE order_id = ANY ($1::uuid[]) AND kind IN ('foreign_refund', 'disputed')`,
      [wave.map(({ row }) => row.order_id)],
    );
    if (rows.length === 0) return;
    await this.foreign.settle(
      tx,
      rows.map(({ order_id: orderId }) => orderId),
    );
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
  async #revive(
    tx: Transaction,
    wave: readonly Judged[],
    { products, linesOf }: StockToRevive,
  ): Promise<Set<Judged>> {
    const failed = new Set<Judged>();
    for (const one of wave) {
      if (one.judgement.verdict !== 'revive') continue;
      const orderId = one.row.order_id;
      const lines = linesOf.get(orderId) ?? [];
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

interface StockToRevive {
  readonly products: ReadonlyMap<string, LockedProduct>;
  readonly linesOf: ReadonlyMap<string, readonly OrderLine[]>;
}

interface OrderLine {
  readonly sku: string;
  readonly quantity: number;
}

/** Locks the products of orders to revive, before anything is recorded about those that cannot. */
async function lockStock(
  tx: Transaction,
  judged: readonly Judged[],
): Promise<{ readonly stock: StockToRevive; readonly busy: ReadonlySet<Judged> }> {
  const reviving = judged.filter(({ judgement }) => judgement.verdict === 'revive');
  const linesOf = new Map<string, OrderLine[]>(reviving.map(({ row }) => [row.order_id, []]));
  if (reviving.length === 0) {
    return { stock: { products: new Map(), linesOf }, busy: new Set() };
  }
  const lines = await tx.rows<OrderLine & { order_id: string }>(
    'SELECT order_id, sku, quantity FROM order_items WHERE order_id = ANY ($1::uuid[])',
    [[...linesOf.keys()]],
  );
  for (const { order_id, sku, quantity } of lines) linesOf.get(order_id)?.push({ sku, quantity });
  const wanted = sumBySku(lines);
  const { products, heldElsewhere } = await lockProducts(tx, [...wanted.keys()]);
  await foldWhereShort(tx, products, wanted);
  const isBusy = ({ row }: Judged): boolean =>
    linesOf.get(row.order_id)?.some(({ sku }) => heldElsewhere.has(sku)) ?? false;
  return { stock: { products, linesOf }, busy: new Set(reviving.filter(isBusy)) };
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

/** Money that is not in its payment's row yet. */
function isNewMoney({ row }: Judged): boolean {
  return row.payment_status !== 'succeeded';
}

const isHeldFor = ({ judgement }: Judged, reason: HoldReason): boolean =>
  judgement.verdict === 'hold' && judgement.reason === reason;

/** Locks the orders' rows in id order, then reads them with their payments afresh. */
async function lockRows(
  tx: Transaction,
  captures: readonly Capture[],
): Promise<Map<Capture, CaptureRow>> {
  const paymentIds = captures.map(({ paymentId }) => paymentId);
  await tx.hot(
    `SELECT 1 FROM orders
      WHERE id = ANY (ARRAY(SELECT order_id FROM payments WHERE id = ANY ($1::uuid[])))
      ORDER BY id FOR NO KEY UPDATE`,
    [paymentIds],
  );
  const rows = await tx.hot<CaptureRow>(`${ROW} WHERE p.id = ANY ($1::uuid[])`, [paymentIds]);
  const byId = new Map(rows.map((row) => [row.payment_id, row]));
  const found = new Map<Capture, CaptureRow>();
  for (const capture of captures) {
    const row = byId.get(capture.paymentId);
    if (!row) continue;
    const isOther = row.provider_payment_id !== null && !isFor(row, capture);
    found.set(capture, (isOther && (await readStray(tx, row, capture))) || row);
  }
  return found;
}

const ROW = `SELECT p.id AS payment_id, p.provider, p.status AS payment_status, p.amount, p.currency,
         p.order_id, p.provider_payment_id, p.captured_amount, p.captured_currency, p.hold_reason,
         o.status, o.close_reason, o.closes_at, o.late_payment
    FROM payments p JOIN orders o ON o.id = p.order_id`;

const isFor = (row: CaptureRow, { providerPaymentId }: Capture): boolean =>
  row.provider_payment_id === providerPaymentId;

/** Money of another payment of the provider, which was given a row of its own when it came first. */
async function readStray(
  tx: Transaction,
  { order_id: orderId, provider }: CaptureRow,
  { providerPaymentId }: Capture,
): Promise<CaptureRow | undefined> {
  const [row] = await tx.rows<CaptureRow>(
    `${ROW} WHERE p.order_id = $1 AND p.provider = $2 AND p.provider_payment_id = $3`,
    [orderId, provider, providerPaymentId],
  );
  return row;
}

/**
 * Money taken under our reference for a payment that we did not open gets a payment of its own, so
 * that it is counted, can go back, and an operator sees it.
 */
async function keepStrays(tx: Transaction, wave: readonly Judged[]): Promise<readonly Judged[]> {
  const kept: Judged[] = [];
  for (const one of wave) {
    if (!isHeldFor(one, 'reference_mismatch')) {
      kept.push(one);
      continue;
    }
    const paymentId = uuidv7();
    const { providerPaymentId } = one.capture;
    await tx.rows(
      `INSERT INTO payments (id, order_id, provider, provider_payment_id, status, amount, currency,
                             expires_at)
       SELECT $1, order_id, provider, $2, 'closed', amount, currency, now()
         FROM payments WHERE id = $3`,
      [paymentId, providerPaymentId, one.row.payment_id],
    );
    const row = { ...one.row, payment_id: paymentId, payment_status: 'closed' as const };
    kept.push({ ...one, row: { ...row, provider_payment_id: providerPaymentId } });
  }
  return kept;
}

/** Money is recorded first, whatever is decided about it; it never becomes unrecorded. */
async function recordMoney(
  tx: Transaction,
  wave: readonly Judged[],
  source: MovementSource,
): Promise<void> {
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
  await recordMovements(
    tx,
    wave.flatMap((one) => movementsOf(one, source)),
  );
}

function movementsOf({ row, capture, judgement }: Judged, source: MovementSource): Movement[] {
  const { amount, currency } = capture.money;
  const { order_id: orderId, payment_id: paymentId } = row;
  const money = { orderId, paymentId, amount, currency, source };
  const captured = { ...money, kind: 'captured', ref: capture.providerPaymentId } as const;
  if (judgement.verdict !== 'hold') return [captured];
  const { reason } = judgement;
  return [captured, { ...money, kind: 'held', ref: reason, reason }];
}

/**
 * A provider that changed its mind about the amount: what was recorded stays, on hold, and what is
 * said now is a row beside it. Said again after an operator has settled it, it is known.
 */
async function settleClaims(
  tx: Transaction,
  wave: readonly Judged[],
  source: MovementSource,
): Promise<readonly Judged[]> {
  const changed = wave.filter((one) => isHeldFor(one, 'capture_changed'));
  if (changed.length === 0) return wave;
  const claims = changed.map((one) => ({ ...claimOf(one, source), one }));
  const fresh = new Set((await recordMovements(tx, claims)).map(({ one }) => one));
  for (const { one, orderId, paymentId, ref } of claims) {
    if (!fresh.has(one) || one.row.hold_reason !== null) continue;
    await tx.rows(`UPDATE payments SET hold_reason = 'capture_changed' WHERE id = $1`, [paymentId]);
    const held = { amount: Number(one.row.captured_amount), reason: 'capture_changed' };
    const currency = one.row.captured_currency as string;
    await recordMovements(tx, [
      { orderId, paymentId, kind: 'held', ref, ...held, currency, source },
    ]);
  }
  return wave.map((one) => {
    const isSettled =
      isHeldFor(one, 'capture_changed') && !fresh.has(one) && one.row.hold_reason === null;
    return isSettled ? { ...one, judgement: { verdict: 'known' } } : one;
  });
}

function claimOf({ row, capture }: Judged, source: MovementSource): Movement {
  const { amount, currency } = capture.money;
  return {
    orderId: row.order_id,
    paymentId: row.payment_id,
    kind: 'mismatch',
    ref: `${capture.providerPaymentId} ${amount} ${currency}`,
    amount,
    currency,
    source,
    reason: 'capture_changed',
  };
}
