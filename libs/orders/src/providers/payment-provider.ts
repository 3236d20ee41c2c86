/** A line of the order, as the provider shows it to the buyer. */
export interface PaymentLine {
  readonly name: string;
  readonly quantity: number;
  /** In minor units of the payment's currency. */
  readonly unitPrice: number;
}

/** What the buyer sees of a payment at the provider. */
export interface Checkout {
  readonly orderId: string;
  /** The end of the payment window: what a countdown shows, a grace period before `expiresAt`. */
  readonly payBy: Date | null;
  /** They add up to the amount. */
  readonly lines: readonly PaymentLine[];
  /** The shop's page to go back to, of those that it allows; null for the provider's own default. */
  readonly returnUrl: string | null;
}

/** A payment that is to be opened. */
export interface NewPayment {
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
  /** When the provider lets the payment expire by itself. */
  readonly expiresAt: Date;
  /** By the database's clock. */
  readonly now: Date;
  /** Without it the buyer is shown the amount alone. */
  readonly checkout?: Checkout;
}

/**
 * What is sent to open a payment, as JSON, with everything that the settings said at that moment.
 * It is stored before it is sent: a call whose answer was lost is repeated word for word.
 */
export type PaymentRequest = Readonly<Record<string, unknown>>;

/** How we and the provider name one payment. */
export interface PaymentRef {
  /** Our payment id; the provider stores it as its reference. */
  readonly paymentId: string;
  /** The provider's id; null while the answer to our create call has not reached us. */
  readonly providerPaymentId: string | null;
  readonly amount: number;
  readonly currency: string;
  /** When the provider lets the payment expire by itself. */
  readonly expiresAt: Date;
  /** What was sent, or was about to be, to open it. */
  readonly request?: PaymentRequest | null;
}

/** What became of opening a payment. */
export type CreateAnswer =
  | ({ readonly state: 'CREATED' } & CreatedPayment)
  /** The provider looked at it and said no: nothing was made, and the same is refused again. */
  | { readonly state: 'REFUSED'; readonly why: string }
  /** Nothing was made, for no fault of the payment: never sent, or turned away unseen. */
  | { readonly state: 'NOT_MADE'; readonly why: string }
  /** No answer: there may be a payment or none. */
  | { readonly state: 'UNKNOWN'; readonly why: string };

export interface CreatedPayment {
  readonly providerPaymentId: string;
  readonly checkoutUrl: string;
}

/** Money the provider says it has taken. Amounts in minor units. */
export interface CapturedMoney {
  readonly amount: number;
  readonly currency: string;
  /** By the provider's clock. */
  readonly paidAt: Date;
}

/**
 * What a provider says of a payment. PAID, CLOSED_UNPAID, REFUNDED and NEVER_MADE are final;
 * NOT_FOUND is final once the payment's own expiry has passed. UNKNOWN is no answer at all.
 */
export type ProviderAnswer =
  | { readonly state: 'PAID'; readonly providerPaymentId: string; readonly money: CapturedMoney }
  | {
      readonly state: 'REFUNDED';
      readonly providerPaymentId: string;
      readonly money: CapturedMoney;
    }
  | { readonly state: 'UNPAID' | 'IN_FLIGHT' | 'CLOSED_UNPAID'; readonly providerPaymentId: string }
  | { readonly state: 'NOT_FOUND' }
  /** Its create call was refused, and would be again. */
  | { readonly state: 'NEVER_MADE'; readonly why: string }
  | { readonly state: 'UNKNOWN'; readonly why: string };

/** The new ends of a payment whose order has more time. */
export interface MoreTime {
  readonly payBy: Date;
  readonly expiresAt: Date;
}

/** What became of giving a payment more time. */
export type ExtendAnswer =
  /** It lasts until then at least. */
  | { readonly state: 'EXTENDED'; readonly expiresAt: Date }
  /** It ends as it would have: it is over already, or the provider moves no ends. */
  | { readonly state: 'REFUSED'; readonly why: string }
  | { readonly state: 'UNKNOWN'; readonly why: string };

export interface RefundRequest {
  /** Our payment id. */
  readonly paymentId: string;
  readonly providerPaymentId: string;
  readonly amount: number;
  readonly currency: string;
  /** Same key, same refund: repeating the call is safe. */
  readonly idempotencyKey: string;
}

export type RefundAnswer =
  | { readonly state: 'PENDING' | 'SUCCEEDED'; readonly providerRefundId: string }
  | {
      readonly state: 'FAILED';
      readonly providerRefundId: string | null;
      readonly why: string;
      /** True of what the provider will never take, as for its amount: it waits for an operator at once. */
      readonly isForGood?: boolean;
    }
  | { readonly state: 'UNKNOWN'; readonly why: string };

/** What a verified webhook says, in our words. */
export type ProviderNotice = {
  /** The provider's id of the webhook that brought it; unique for it. */
  readonly eventId: string;
} & (
  | {
      readonly type: 'payment.succeeded';
      readonly paymentId: string;
      readonly providerPaymentId: string;
      readonly money: CapturedMoney;
    }
  | {
      readonly type: 'payment.failed' | 'payment.closed';
      readonly paymentId: string;
      readonly providerPaymentId: string;
    }
  | {
      readonly type: 'refund.succeeded' | 'refund.failed';
      readonly paymentId: string;
      readonly providerPaymentId: string;
      readonly providerRefundId: string | null;
      /** The key we gave with the refund, when the provider repeats it. */
      readonly idempotencyKey: string | null;
      readonly amount: number;
      readonly why: string | null;
    }
  | {
      /** The buyer's bank takes the money back; then it decides for us (won) or for the buyer. */
      readonly type: 'dispute.opened' | 'dispute.won' | 'dispute.lost';
      readonly paymentId: string;
      readonly providerPaymentId: string;
      readonly disputeId: string;
      readonly amount: number;
      /** Of one that is lost: what of the amount came back all the same, as where it is won in part. */
      readonly returned?: number | undefined;
    }
  | { readonly type: 'ignored'; readonly providerType: string }
);

export interface ProviderFinding {
  readonly name: string;
  readonly detail: string;
  /** How to mend it; null when it is as it has to be. */
  readonly fix: string | null;
}

/** A line of the provider's ledger, for reconciling. */
export interface LedgerPayment {
  readonly providerPaymentId: string;
  readonly paymentId: string | null;
  readonly captured: CapturedMoney | null;
  readonly refunds: readonly {
    readonly providerRefundId: string;
    readonly idempotencyKey: string | null;
    readonly amount: number;
    readonly state: 'PENDING' | 'SUCCEEDED' | 'FAILED';
  }[];
  readonly disputes?: readonly {
    readonly disputeId: string;
    readonly amount: number;
    readonly state: 'OPEN' | 'WON' | 'LOST';
    /** Of one that is lost: what of the amount came back all the same. */
    readonly returned?: number | undefined;
  }[];
}

/** A page of the ledger, and what to go on with behind it; null: it was the last one. */
export interface LedgerPage {
  readonly payments: readonly LedgerPayment[];
  readonly next: string | null;
}

/** It stands in the path of its webhooks, and between commas in what processes tell of themselves. */
export const PROVIDER_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * A payment provider. One file implements it, and the provider contract suite runs over it.
 * Calls take bounded time (a few seconds), are never made inside a transaction, and reject only
 * for bugs: an unreachable or confused provider is the answer UNKNOWN, except `ledger`, which
 * rejects with `provider_error`.
 */
export interface PaymentProvider {
  /** As in `POST /v1/webhooks/{name}` and in the `payments.provider` column: 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-". */
  readonly name: string;
  /** False: nobody is charged (a sandbox, a test key). Never to be chosen beside one that is true. */
  readonly takesRealMoney: boolean;
  /**
   * Says what would be sent; calls nobody. Refuses what the provider would refuse for certain.
   * @throws {LastcallError} currency_not_supported, amount_too_small, amount_not_chargeable
   */
  planPayment(payment: NewPayment): PaymentRequest;
  /** Sends the planned request; `paymentId` is its idempotency key, so repeating it is safe. */
  createPayment(payment: PaymentRef & { readonly request: PaymentRequest }): Promise<CreateAnswer>;
  /**
   * Also while `providerPaymentId` is null: then the call that was lost may be repeated, and a
   * payment that it makes only now is ended at once.
   */
  findPayment(payment: PaymentRef): Promise<ProviderAnswer>;
  /** Ends the payment at the provider. "Already paid" is a normal answer. */
  closePayment(payment: PaymentRef): Promise<ProviderAnswer>;
  /**
   * Lets an open payment last as long as its order, which has been given more time. Repeating it is
   * safe. Without it a payment ends as planned, and its buyer opens another one.
   */
  extendPayment?(payment: PaymentRef, moreTime: MoreTime): Promise<ExtendAnswer>;
  refund(request: RefundRequest): Promise<RefundAnswer>;
  /**
   * Of what an operator wants to send back it refuses, before anything is written, what the provider would
   * refuse for certain; calls nobody.
   * @throws {LastcallError} amount_not_chargeable
   */
  planRefund?(money: Pick<RefundRequest, 'amount' | 'currency'>): void;
  findRefund(providerRefundId: string): Promise<RefundAnswer>;
  /**
   * Verifies the signature over the raw bytes and reads the notice. Throws LastcallError
   * `bad_signature`, `stale_timestamp` or `invalid_request`; rejects with `provider_error` when the
   * provider has to be asked what the notice is about, and does not answer.
   */
  readWebhook(
    rawBody: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    now: Date,
  ): ProviderNotice | Promise<ProviderNotice>;
  /**
   * Everything that changed at the provider since `since`, whenever it began, in pages; a payment may
   * be on several. `from` goes on behind the page whose `next` it was.
   */
  ledger(since: Date, from: string | null): AsyncIterable<LedgerPage>;
  /** False for a currency in which no payment can be opened. */
  takes(currency: string): boolean;
  /** What an operator should mend at the provider: a webhook endpoint that is not as it has to be. */
  examine?(): Promise<readonly ProviderFinding[]>;
}
