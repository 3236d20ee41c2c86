import { queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import type { MoreTime, PaymentRef, PaymentRequest } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { SwitchedOffProvider } from '../providers/switched-off.provider';

/** A payment that ends before its order does, and why it cannot be helped. */
export interface LeftBehind {
  readonly provider: string;
  readonly paymentId: string;
  readonly why: string;
}

/**
 * Lets the payments that are open at providers last as long as their order, which has been given
 * more time. It looks at what is, and does not remember what it tried: whoever calls it again, after
 * a crash or a provider that did not answer, goes on with what is still behind. A payment that
 * stays behind ends as planned, which closes nothing but itself: its buyer opens another one.
 */
@Injectable()
export class ExtendPayments {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly providers: PaymentProviders,
  ) {}

  /** False where an open payment is at a provider that this process has not, or not the secrets of. */
  async canAskFor(orderId: string): Promise<boolean> {
    const open = await queryRows<{ provider: string }>(
      this.dataSource,
      `SELECT provider FROM payments
        WHERE order_id = $1 AND status = 'open'`,
      [orderId],
    );
    return open.every(
      ({ provider }) => !(this.providers.of(provider) instanceof SwitchedOffProvider),
    );
  }

  /** Calls providers: never inside a transaction. */
  async extendFor(orderId: string): Promise<LeftBehind[]> {
    const behind = await queryRows<Row>(this.dataSource, BEHIND, [orderId]);
    const left = await Promise.all(behind.map((row) => this.#extend(row)));
    return left.filter((one) => one !== undefined);
  }

  async #extend(row: Row): Promise<LeftBehind | undefined> {
    const { id: paymentId, provider } = row;
    const moreTime: MoreTime = { payBy: row.pay_by, expiresAt: row.closes_at };
    const answer = await this.providers.of(provider).extendPayment?.(refOf(row), moreTime);
    if (answer?.state === 'EXTENDED') {
      const { expiresAt } = answer;
      await queryRows(this.dataSource, EXTENDED, [paymentId, expiresAt]);
      if (expiresAt >= row.closes_at) return undefined;
      return {
        provider,
        paymentId,
        why: `${provider} lets it last until ${expiresAt.toISOString()}`,
      };
    }
    const why = answer?.why ?? `${provider} moves no ends of payments`;
    return { provider, paymentId, why };
  }
}

interface Row {
  id: string;
  provider: string;
  provider_payment_id: string;
  amount: string;
  currency: string;
  expires_at: Date;
  request: PaymentRequest | null;
  pay_by: Date;
  closes_at: Date;
}

function refOf(row: Row): PaymentRef {
  return {
    paymentId: row.id,
    providerPaymentId: row.provider_payment_id,
    amount: Number(row.amount),
    currency: row.currency,
    expiresAt: row.expires_at,
    request: row.request,
  };
}

const BEHIND = `
  SELECT p.id, p.provider, p.provider_payment_id, p.amount, p.currency, p.expires_at, p.request,
         o.pay_by, o.closes_at
    FROM payments p JOIN orders o ON o.id = p.order_id
   WHERE p.order_id = $1 AND p.status = 'open' AND p.provider_payment_id IS NOT NULL
     AND o.status = 'pending_payment' AND o.pay_by IS NOT NULL AND p.expires_at < o.closes_at`;

/** Two extensions may meet: the later end is the provider's too. */
const EXTENDED = `UPDATE payments SET expires_at = greatest(expires_at, $2) WHERE id = $1`;
