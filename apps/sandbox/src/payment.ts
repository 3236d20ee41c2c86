export type PaymentStatus = 'open' | 'paid' | 'closed' | 'failed';
export type RefundStatus = 'pending' | 'succeeded' | 'failed';

/** A line of the merchant's order, for the buyer to see. */
export interface Line {
  readonly name: string;
  readonly quantity: number;
  readonly unitPrice: number;
}

/** What the pay page shows beside the amount. */
export interface Shown {
  /** The end of the merchant's payment window: the countdown's end, at `expiresAt` by default. */
  payBy: string | null;
  readonly lines: readonly Line[];
  /** Where the buyer goes having paid, and having thought better of it. */
  readonly successUrl: string | null;
  readonly cancelUrl: string | null;
}

/** A row of the ledger. Amounts are minor units, instants ISO 8601 in UTC. */
export interface Payment extends Partial<Shown> {
  readonly id: string;
  /** The merchant's own id for this payment; the same reference is the same payment. */
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: string;
  /** From then on it can no longer be paid; null = never. */
  expiresAt: string | null;
  status: PaymentStatus;
  paidAt: string | null;
  closedAt: string | null;
  /** When the provider last heard or did something of it, whatever it was told; ledgers of before do not say. */
  changedAt?: string;
  /** What the buyer really paid; a test may let it differ from what was asked. */
  capturedAmount: number;
  capturedCurrency: string | null;
}

export interface Refund {
  readonly id: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  /** Null for one that was made by hand. */
  readonly idempotencyKey: string | null;
  readonly createdAt: string;
  /** When the bank is to answer, and what: decided on acceptance, so that a restart keeps it. */
  readonly settlesAt: string;
  readonly willFail: boolean;
  status: RefundStatus;
  settledAt: string | null;
  failureReason: string | null;
}

/** Money that the buyer's bank has taken back, until the merchant has won. */
export interface Dispute {
  readonly id: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: string;
  status: 'open' | 'won' | 'lost';
  /** Of one that is lost: what of the amount came back all the same. */
  returned?: number;
  settledAt: string | null;
}

/** What the API tells about a refund. */
export type RefundView = Omit<Refund, 'settlesAt' | 'willFail'>;

/** What the API tells about a payment. */
export interface PaymentView extends Payment {
  readonly checkoutUrl: string;
  readonly refunds: readonly RefundView[];
  readonly disputes: readonly Dispute[];
}

export function refundView(refund: Refund): RefundView {
  const { id, paymentId, amount, currency, status, idempotencyKey } = refund;
  const { createdAt, settledAt, failureReason } = refund;
  return {
    id,
    paymentId,
    amount,
    currency,
    status,
    idempotencyKey,
    createdAt,
    settledAt,
    failureReason,
  };
}
