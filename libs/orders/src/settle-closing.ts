import { queryRows, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { OrderGuard } from './order-guard';
import type { By, CloseReason } from './order.lifecycle';
import { judgeAnswer } from './provider-answer.judgement';
import {
  PAYMENT_PROVIDER,
  type PaymentProvider,
  type PaymentRef,
  type ProviderAnswer,
} from './providers/payment-provider';
import { RecordCaptures } from './record-captures';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './telemetry';

/** As long as a customer who cancels may be kept waiting for the provider. */
const SOON_MS = 1_500;

interface OpenPaymentRow {
  id: string;
  provider_payment_id: string | null;
  amount: string;
  currency: string;
  expires_at: Date;
  is_expired: boolean;
}

interface Asked {
  readonly ref: PaymentRef;
  readonly isExpired: boolean;
  readonly answer: ProviderAnswer;
}

/**
 * The careful lane for one order behind the fence: asks the provider about each open payment and
 * closes it there, outside any transaction; only final answers close the order or pay it.
 */
@Injectable()
export class SettleClosing {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly captures: RecordCaptures,
    @Inject(PAYMENT_PROVIDER) private readonly provider: PaymentProvider,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** True when the order has left `closing`; false when an answer was not final. */
  async settle(orderId: string): Promise<boolean> {
    const asked: Asked[] = [];
    for (const { ref, isExpired } of await this.#openPayments(orderId)) {
      asked.push({ ref, isExpired, answer: await this.#closeAtProvider(ref) });
    }
    return this.guard.withOrder(orderId, async (order, tx) => {
      if (order.status !== 'closing') return true;
      await this.#apply(tx, asked);
      return this.#closeIfNoneOpen(tx, orderId);
    });
  }

  /**
   * {@link settle} for somebody who waits for the answer: tries at once, for at most a second and
   * a half, and leaves the rest to the deadline that is armed already.
   */
  async settleSoon(orderId: string): Promise<void> {
    const trying = this.settle(orderId).catch((error: unknown) =>
      this.telemetry.failed('settle closing', error),
    );
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, SOON_MS)));
    await Promise.race([trying, enough]);
    clearTimeout(timer);
  }

  /** Query first, so that money that is there is never missed; then close; then query again. */
  async #closeAtProvider(ref: PaymentRef): Promise<ProviderAnswer> {
    const before = await this.provider.findPayment(ref);
    if (before.state !== 'UNPAID') return before;
    const closed = await this.provider.closePayment(ref);
    if (closed.state !== 'UNPAID' && closed.state !== 'UNKNOWN') return closed;
    return this.provider.findPayment(ref);
  }

  async #apply(tx: Transaction, asked: readonly Asked[]): Promise<void> {
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
    await this.captures.record(tx, captured);
    const closed: string[] = [];
    for (const { ref, isExpired, answer } of asked) {
      if (judgeAnswer(answer.state, isExpired) === 'closed') closed.push(ref.paymentId);
      if (answer.state === 'REFUNDED') {
        tx.afterCommit(() => this.telemetry.alarm('refunded_outside', { ...ref }));
      }
    }
    // A negative answer never beats recorded money: only what is still open is closed.
    await tx.rows(
      `UPDATE payments SET status = 'closed' WHERE id = ANY ($1::uuid[]) AND status = 'open'`,
      [closed],
    );
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
    if (!row || row.status !== 'closing') return true;
    if (Number(row.open) > 0) return false;
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

  async #openPayments(orderId: string): Promise<{ ref: PaymentRef; isExpired: boolean }[]> {
    const rows = await queryRows<OpenPaymentRow>(
      this.dataSource,
      `SELECT id, provider_payment_id, amount, currency, expires_at,
              expires_at <= now() AS is_expired
         FROM payments WHERE order_id = $1 AND status = 'open' ORDER BY id`,
      [orderId],
    );
    return rows.map((row) => ({
      isExpired: row.is_expired,
      ref: {
        paymentId: row.id,
        providerPaymentId: row.provider_payment_id,
        amount: Number(row.amount),
        currency: row.currency,
        expiresAt: row.expires_at,
      },
    }));
  }
}
