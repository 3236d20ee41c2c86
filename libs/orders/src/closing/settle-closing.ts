import { type Attempted, failpoint, queryRows, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { isBusy, LastcallError } from '../order/errors';
import { OrderGuard } from '../order/order-guard';
import type { By, CloseReason } from '../order/order.lifecycle';
import { ANSWERING } from './answer-soon';
import { CancelWishes } from './cancel-wishes';
import { alertOfEnd, CREATE_LIMIT_S, endAtProvider } from './end-at-provider';
import { judgeAnswer } from './provider-answer.judgement';
import type { PaymentRef, PaymentRequest, ProviderAnswer } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { RecordCaptures } from '../money/record-captures';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/** SQL over a payment's order `o`. */
const HAS_TO_END = "o.status <> 'pending_payment'";

interface OpenPaymentRow {
  id: string;
  provider: string;
  provider_payment_id: string | null;
  amount: string;
  currency: string;
  expires_at: Date;
  error: string | null;
  request: PaymentRequest | null;
  is_expired: boolean;
}

interface OpenPayment {
  readonly ref: PaymentRef;
  /** True once the provider would refuse to create it, or to take money for it. */
  readonly isExpired: boolean;
  readonly provider: string;
  /** Why it has given no answer when it was asked before; null where it has. */
  readonly error: string | null;
}

interface Asked extends OpenPayment {
  readonly answer: ProviderAnswer;
}

/**
 * The careful lane for one order: asks the provider about each open payment and closes it there,
 * outside any transaction; only final answers close the order or pay it. The same ends payments
 * that are still open when another one has paid the order; and of an order that can still be paid, writes down what
 * has become of a payment that nobody has told of ({@link settleEnded}).
 */
@Injectable()
export class SettleClosing {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly captures: RecordCaptures,
    private readonly wishes: CancelWishes,
    private readonly providers: PaymentProviders,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** `succeeded` where a provider has answered, if not for good, or the order is closed now. */
  async settle(orderId: string): Promise<Attempted> {
    const asked: Asked[] = [];
    for (const payment of await this.#openPayments(orderId, HAS_TO_END)) {
      asked.push({
        ...payment,
        answer: await endAtProvider(this.providers.of(payment.provider), payment.ref),
      });
    }
    await failpoint('closing.answered');
    const isClosed = await this.guard.withOrder(orderId, async (_order, tx) => {
      // Whatever the order is by now: money that the provider tells of is recorded.
      await this.#apply(tx, orderId, asked);
      const isClosed = await this.#closeIfNoneOpen(tx, orderId);
      await failpoint('closing.applied');
      return isClosed;
    });
    await failpoint('closing.settled');
    const isAnswered = asked.some(({ answer }) => answer.state !== 'UNKNOWN');
    return isAnswered || isClosed ? 'succeeded' : 'nothing';
  }

  /**
   * {@link settle} for somebody who waits for the answer: tries at once, for at most a second and
   * a half, and leaves the rest to the deadline that is armed already.
   */
  async settleSoon(orderId: string): Promise<void> {
    const trying = this.settle(orderId).catch((error: unknown) => {
      if (!isBusy(error)) this.telemetry.failed('settle closing', error);
    });
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ANSWERING.limitMs);
    });
    await Promise.race([trying, enough]);
    clearTimeout(timer);
  }

  /** Asks about a payment, and ends nothing there: true where it is over by its provider's answer, and by our row. */
  async settleEnded(orderId: string, paymentId: string): Promise<boolean> {
    const readOpen = () => this.#openPayments(orderId, 'p.id = $3', [paymentId]);
    const [payment] = await readOpen();
    if (!payment) return true;
    const answer = await this.providers.of(payment.provider).findPayment(payment.ref);
    if (judgeAnswer(answer.state, payment.isExpired) === 'unknown') return false;
    await this.guard.withOrder(orderId, (_order, tx) =>
      this.#apply(tx, orderId, [{ ...payment, answer }]),
    );
    return (await readOpen()).length === 0;
  }

  async #apply(tx: Transaction, orderId: string, asked: readonly Asked[]): Promise<void> {
    const captured = asked.flatMap(({ ref, answer }) =>
      answer.state === 'PAID'
        ? [
            {
              paymentId: ref.paymentId,
              providerPaymentId: answer.providerPaymentId,
              money: answer.money,
            },
          ]
        : [],
    );
    const outcomes = await this.captures.record(tx, captured, 'answer');
    if (outcomes.includes('busy')) {
      throw new LastcallError(
        'busy',
        'Somebody is changing this order, its payment or one of its products',
      );
    }
    await this.wishes.carryOut(
      tx,
      captured.map(({ paymentId }) => paymentId),
      outcomes,
    );
    const ends = asked.filter(
      ({ answer, isExpired }) => judgeAnswer(answer.state, isExpired) === 'closed',
    );
    // A negative answer never beats recorded money: only what is still open is closed.
    const closed = await tx.rows<{ id: string }>(
      `UPDATE payments SET status = 'closed' WHERE id = ANY ($1::uuid[]) AND status = 'open' RETURNING id`,
      [ends.map(({ ref }) => ref.paymentId)],
    );
    const isClosed = new Set(closed.map(({ id }) => id));
    for (const { ref, provider, isExpired, answer } of ends) {
      const { paymentId, providerPaymentId } = ref;
      const alert = alertOfEnd(ref, isExpired, answer);
      // Of money that came while it was asked we know better: we may have sent it back ourselves.
      if (!alert || !isClosed.has(paymentId)) continue;
      // Not all of it: the log has nothing of what was sent to the provider.
      const fields = { orderId, provider, paymentId, providerPaymentId };
      tx.afterCommit(() => this.telemetry.alert(alert, fields));
    }
    await noteWhy(tx, asked);
  }

  async #closeIfNoneOpen(tx: Transaction, orderId: string): Promise<boolean> {
    const [row] = await tx.rows<{
      status: string;
      open: string;
      by: By;
      actor: string | null;
      reason: string | null;
      close_reason: CloseReason | null;
    }>(
      `SELECT o.status, o.close_reason, e.by, e.actor, e.reason,
              (SELECT count(*) FROM payments p WHERE p.order_id = o.id AND p.status = 'open') AS open
         FROM orders o JOIN order_events e ON e.order_id = o.id AND e.version = o.version
        WHERE o.id = $1`,
      [orderId],
    );
    if (row?.status !== 'closing' || Number(row.open) > 0) return false;
    const closed = await this.guard.change(tx, {
      from: 'closing',
      to: 'closed',
      orderIds: [orderId],
      by: row.by,
      actor: row.actor ?? undefined,
      reason: row.reason ?? undefined,
      closeReason: row.close_reason ?? 'payment_timeout',
    });
    return closed.length > 0;
  }

  async #openPayments(
    orderId: string,
    which: string,
    values: readonly unknown[] = [],
  ): Promise<OpenPayment[]> {
    const rows = await queryRows<OpenPaymentRow>(
      this.dataSource,
      `SELECT p.id, p.provider, p.provider_payment_id, p.amount, p.currency, p.expires_at,
              p.error, p.request,
              greatest(p.expires_at, p.created_at + $2 * interval '1 second') <= now() AS is_expired
         FROM payments p JOIN orders o ON o.id = p.order_id
        WHERE p.order_id = $1 AND p.status = 'open' AND ${which}
        ORDER BY p.id`,
      [orderId, CREATE_LIMIT_S, ...values],
    );
    return rows.map((row) => ({
      provider: row.provider,
      error: row.error,
      isExpired: row.is_expired,
      ref: {
        paymentId: row.id,
        providerPaymentId: row.provider_payment_id,
        amount: Number(row.amount),
        currency: row.currency,
        expiresAt: row.expires_at,
        request: row.request,
      },
    }));
  }
}

/** For whoever is woken up because the order waits. Nothing goes by it, and the next answer takes its place. */
async function noteWhy(tx: Transaction, asked: readonly Asked[]): Promise<void> {
  for (const { ref, error, answer } of asked) {
    const why = answer.state === 'UNKNOWN' ? answer.why : null;
    if (why === error) continue;
    await tx.rows('UPDATE payments SET error = $2 WHERE id = $1', [ref.paymentId, why]);
  }
}
