import type { Agenda } from './agenda';
import type { Clock } from './clock';
import type { FaultBox } from './faults';
import { newId } from './id';
import type { Ledger } from './ledger';
import type { Payment, Refund } from './payment';
import { Refusal } from './problem';
import { refundEvent } from './webhook-event';

export interface NewRefund {
  readonly paymentId: string;
  readonly amount: number;
  readonly idempotencyKey: string;
}

/** The life of a refund: accepted as pending, settled a little later, for better or worse. */
export class Refunds {
  constructor(
    private readonly ledger: Ledger,
    private readonly agenda: Agenda,
    private readonly clock: Clock,
    private readonly faults: FaultBox,
  ) {}

  async create(wanted: NewRefund): Promise<{ refund: Refund; created: boolean }> {
    const known = this.ledger.refundByKey(wanted.idempotencyKey);
    if (known !== undefined) {
      if (known.paymentId !== wanted.paymentId || known.amount !== wanted.amount) {
        const detail = 'This idempotency key was used for another refund.';
        throw new Refusal(409, 'idempotency_key_reused', detail);
      }
      return { refund: known, created: false };
    }
    const payment = this.ledger.payment(wanted.paymentId);
    const refund = await this.#make(payment, wanted.amount, wanted.idempotencyKey);
    return { refund, created: true };
  }

  /** Somebody refunds in the dashboard; by default all that is left. */
  async createByHand(paymentId: string, wanted?: number): Promise<Refund> {
    const payment = this.ledger.payment(paymentId);
    return this.#make(payment, wanted ?? Math.max(1, this.#left(payment)), null);
  }

  /** The money came back, days after: the account it went to was closed. */
  async failLater(id: string): Promise<Refund> {
    const refund = this.ledger.refund(id);
    if (refund.status !== 'succeeded') {
      throw new Refusal(409, 'refund_not_succeeded', `This refund is ${refund.status}.`);
    }
    await this.#finish(refund, 'failed', 'account_closed');
    return refund;
  }

  async #make(payment: Payment, amount: number, idempotencyKey: string | null): Promise<Refund> {
    this.#refuseBeyondCaptured(payment, amount);
    const { failRefunds, refundDelayMs } = this.faults.current;
    const refund: Refund = {
      id: newId('re'),
      paymentId: payment.id,
      amount,
      currency: payment.capturedCurrency ?? payment.currency,
      idempotencyKey,
      createdAt: this.ledger.nextCreatedAt(),
      settlesAt: new Date(this.clock.now() + refundDelayMs).toISOString(),
      willFail: failRefunds,
      status: 'pending',
      settledAt: null,
      failureReason: null,
    };
    this.ledger.addRefund(refund);
    this.#settleInTime(refund);
    await this.ledger.save({ refund });
    return refund;
  }

  find(id: string): Refund {
    return this.ledger.refund(id);
  }

  /** Takes up what was pending when the process stopped. */
  resume(): void {
    for (const refund of this.ledger.allRefunds()) {
      if (refund.status === 'pending') this.#settleInTime(refund);
    }
  }

  #refuseBeyondCaptured(payment: Payment, amount: number): void {
    if (payment.status !== 'paid') {
      const detail = 'Nothing was captured for this payment.';
      throw new Refusal(409, 'payment_not_paid', detail);
    }
    const left = this.#left(payment);
    if (amount <= left) return;
    const detail = `Of the ${payment.capturedAmount} captured, ${left} can still be refunded.`;
    throw new Refusal(409, 'refund_exceeds_captured', detail);
  }

  /** What has neither gone back nor been taken by a dispute. */
  #left({ id, capturedAmount }: Payment): number {
    const gone = [
      ...this.ledger
        .refundsOf(id)
        .filter(({ status }) => status !== 'failed')
        .map(({ amount }) => amount),
      ...this.ledger
        .disputesOf(id)
        .filter(({ status }) => status !== 'won')
        .map(({ amount, returned = 0 }) => amount - returned),
    ];
    return gone.reduce((left, amount) => left - amount, capturedAmount);
  }

  #settleInTime(refund: Refund): void {
    this.agenda.schedule(Date.parse(refund.settlesAt), () => void this.#settle(refund));
  }

  #settle(refund: Refund): Promise<void> {
    return refund.willFail
      ? this.#finish(refund, 'failed', 'declined_by_bank')
      : this.#finish(refund, 'succeeded', null);
  }

  #finish(refund: Refund, status: 'succeeded' | 'failed', why: string | null): Promise<void> {
    refund.settledAt = new Date(this.clock.now()).toISOString();
    refund.status = status;
    refund.failureReason = why;
    const payment = this.ledger.payment(refund.paymentId);
    return this.ledger.save({
      refund,
      events: [refundEvent(refund, payment, refund.settledAt)],
    });
  }
}
