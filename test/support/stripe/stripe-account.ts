import { createHmac, randomUUID } from 'node:crypto';
import {
  nowS,
  type StripeCharge,
  type StripeDispute,
  type StripeEndpoint,
  type StripeIntent,
  type StripeRefund,
  type StripeSession,
} from './stripe-objects';

export interface LoggedEvent {
  readonly id: string;
  readonly object: string;
  created: number;
  readonly type: string;
  readonly data: { readonly object: object };
}

/** An event as it is posted, signed at that moment. */
export interface StripeEvent {
  readonly type: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PayOptions {
  /** Default `card`: paid at once. Others complete the session, and pay or fail later. */
  readonly method?: string;
  /** The charge's, where it is not what the page presented: settled elsewhere. */
  readonly charged?: { readonly amount: number; readonly currency: string };
}

/** Methods that say days later whether they pay (docs.stripe.com/payments/checkout/fulfill-orders). */
const DELAYED = new Set(['sepa_debit', 'us_bank_account', 'boleto', 'oxxo', 'konbini']);

/** A Stripe account: what is in it, and what its buyers, banks and operators do. */
export class StripeAccount {
  readonly sessions = new Map<string, StripeSession>();
  readonly intents = new Map<string, StripeIntent>();
  readonly charges = new Map<string, StripeCharge>();
  readonly refunds: StripeRefund[] = [];
  readonly disputes: StripeDispute[] = [];
  readonly endpoints: StripeEndpoint[] = [];
  readonly events: StripeEvent[] = [];
  /** As they can be listed, for 30 days (docs.stripe.com/api/events). */
  readonly eventLog: LoggedEvent[] = [];
  failRefunds = false;
  /** Where events are posted, when somewhere. */
  endpointUrl: string | undefined;

  /** Several while a secret is rolled: then every event is signed with each. */
  constructor(
    readonly secrets: string[],
    readonly apiVersion: string,
  ) {}

  /** The buyer pays on Stripe's page; undefined when the page does not let them. */
  pay(id: string, { method = 'card', charged }: PayOptions = {}): StripeSession | undefined {
    const session = this.sessions.get(id);
    if (session?.status !== 'open') return undefined;
    if (session.excluded_payment_method_types.includes(method)) return undefined;
    const intent = this.#intent(session);
    Object.assign(session, { status: 'complete', payment_intent: intent.id, url: null });
    if (DELAYED.has(method)) intent.status = 'processing';
    else this.#charge(session, intent, charged);
    this.emit('checkout.session.completed', session);
    return session;
  }

  /** What a delayed method has come to, days later. */
  settlePayment(id: string, succeeded: boolean): void {
    const session = this.sessions.get(id) as StripeSession;
    const intent = this.intents.get(session.payment_intent ?? '') as StripeIntent;
    if (succeeded) this.#charge(session, intent, undefined);
    else intent.status = 'requires_payment_method';
    this.emit(`checkout.session.async_payment_${succeeded ? 'succeeded' : 'failed'}`, session);
  }

  /** Somebody gives money back in the dashboard: a refund without our metadata. */
  refundInDashboard(id: string, amount: number): StripeRefund {
    const session = this.sessions.get(id) as StripeSession;
    return this.refund(session.payment_intent ?? '', amount, {});
  }

  /** The buyer's bank takes the money back until somebody has decided. */
  dispute(id: string): StripeDispute {
    const session = this.sessions.get(id) as StripeSession;
    const intent = this.intents.get(session.payment_intent ?? '') as StripeIntent;
    const charge = this.charges.get(intent.latest_charge ?? '') as StripeCharge;
    const dispute: StripeDispute = {
      id: `du_${randomUUID()}`,
      object: 'dispute',
      amount: charge.amount_captured,
      charge: charge.id,
      created: nowS(),
      currency: charge.currency,
      metadata: {},
      payment_intent: intent.id,
      reason: 'fraudulent',
      status: 'needs_response',
      balance_transactions: [],
    };
    this.disputes.push(dispute);
    charge.disputed = true;
    this.emit('charge.dispute.created', dispute);
    move(dispute, -dispute.amount);
    this.emit('charge.dispute.funds_withdrawn', dispute);
    return dispute;
  }

  /** The bank has decided; where the money comes back, it does so after it (docs.stripe.com/api/events/types). */
  settleDispute(disputeId: string, won: boolean): void {
    const dispute = this.#dispute(disputeId);
    dispute.status = won ? 'won' : 'lost';
    this.emit('charge.dispute.closed', dispute);
  }

  /** So much of what a dispute has taken comes back. */
  reinstate(disputeId: string, amount: number): void {
    const dispute = this.#dispute(disputeId);
    move(dispute, amount);
    this.emit('charge.dispute.funds_reinstated', dispute);
  }

  #dispute(disputeId: string): StripeDispute {
    return this.disputes.find(({ id }) => id === disputeId) as StripeDispute;
  }

  /** Days after it succeeded: the account it went to was closed. */
  failRefundLater(refundId: string): void {
    const refund = this.refunds.find(({ id }) => id === refundId) as StripeRefund;
    const charge = this.charges.get(refund.charge) as StripeCharge;
    this.#fail(refund, charge, 'lost_or_stolen_card');
  }

  /** Everything was made so much earlier. */
  age(seconds: number): void {
    const all = [this.sessions, this.charges].flatMap((map) => [...map.values()]);
    for (const one of [...all, ...this.refunds, ...this.disputes, ...this.eventLog]) {
      one.created -= seconds;
    }
  }

  /** A refund is pending, and then the bank looks at it. */
  refund(payment_intent: string, amount: number, metadata: Record<string, string>): StripeRefund {
    const intent = this.intents.get(payment_intent) as StripeIntent;
    const charge = this.charges.get(intent.latest_charge ?? '') as StripeCharge;
    const refund: StripeRefund = {
      id: `re_${randomUUID()}`,
      object: 'refund',
      amount,
      charge: charge.id,
      created: nowS(),
      currency: charge.currency,
      metadata,
      payment_intent,
      status: 'pending',
    };
    this.refunds.push(refund);
    charge.amount_refunded += amount;
    charge.refunded = charge.amount_refunded === charge.amount_captured;
    this.emit('refund.created', refund);
    setImmediate(() => this.#settleRefund(refund, charge));
    return { ...refund };
  }

  /** docs.stripe.com/webhooks: `t`, one `v1` a secret, and in test mode a `v0`. */
  emit(type: string, object: object): void {
    const event = {
      id: `evt_${randomUUID()}`,
      object: 'event',
      api_version: this.apiVersion,
      created: nowS(),
      type,
      data: { object: { ...object } },
    };
    const body = JSON.stringify(event);
    const t = nowS();
    const signatures = this.secrets.map(
      (secret) => `v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`,
    );
    const headers = {
      'content-type': 'application/json',
      'stripe-signature': [`t=${t}`, ...signatures, `v0=${'0'.repeat(64)}`].join(','),
    };
    this.events.push({ type, body, headers });
    this.eventLog.push(event);
    if (!this.endpointUrl) return;
    void fetch(this.endpointUrl, { method: 'POST', body, headers }).catch(() => undefined);
  }

  #settleRefund(refund: StripeRefund, charge: StripeCharge): void {
    if (!this.failRefunds) {
      refund.status = 'succeeded';
      this.emit('refund.updated', refund);
      this.emit('charge.refunded', charge);
      return;
    }
    this.#fail(refund, charge, 'expired_or_canceled_card');
  }

  #fail(refund: StripeRefund, charge: StripeCharge, failure_reason: string): void {
    Object.assign(refund, { status: 'failed', failure_reason });
    charge.amount_refunded -= refund.amount;
    charge.refunded = false;
    this.emit('refund.failed', refund);
  }

  #intent({ metadata }: StripeSession): StripeIntent {
    const intent: StripeIntent = {
      id: `pi_${randomUUID()}`,
      object: 'payment_intent',
      latest_charge: null,
      metadata: metadata ?? {},
      status: 'requires_payment_method',
    };
    this.intents.set(intent.id, intent);
    return intent;
  }

  #charge(session: StripeSession, intent: StripeIntent, charged: PayOptions['charged']): void {
    const charge: StripeCharge = {
      id: `ch_${randomUUID()}`,
      object: 'charge',
      amount_captured: charged?.amount ?? session.amount_total ?? 0,
      amount_refunded: 0,
      created: nowS(),
      currency: charged?.currency ?? session.currency ?? '',
      disputed: false,
      payment_intent: intent.id,
      refunded: false,
    };
    this.charges.set(charge.id, charge);
    Object.assign(intent, { status: 'succeeded', latest_charge: charge.id });
    session.payment_status = 'paid';
  }
}

/** What an event has shown of it stays as it was. */
function move(dispute: StripeDispute, amount: number): void {
  const { currency } = dispute;
  const reporting_category = amount < 0 ? 'dispute' : 'dispute_reversal';
  const moved = { amount, currency, reporting_category };
  dispute.balance_transactions = [...dispute.balance_transactions, moved];
}
