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
      await this.ledger.journal.flush();
      return { refund: known, created: false };
    }
    const payment = this.ledger.payment(wanted.paymentId);
    this.#refuseBeyondCaptured(payment, wanted.amount);
    const { failRefunds, refundDelayMs } = this.faults.current;
    const refund: Refund = {
      id: newId('re'),
      paymentId: payment.id,
      amount: wanted.amount,
      currency: payment.capturedCurrency ?? payment.currency,
      idempotencyKey: wanted.idempotencyKey,
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
    return { refund, created: true };
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
    const live = this.ledger.refundsOf(payment.id).filter(({ status }) => status !== 'failed');
    const refunded = live.reduce((sum, refund) => sum + refund.amount, 0);
    if (refunded + amount <= payment.capturedAmount) return;
    const left = payment.capturedAmount - refunded;
    const detail = `Of the ${payment.capturedAmount} captured, ${left} can still be refunded.`;
    throw new Refusal(409, 'refund_exceeds_captured', detail);
  }

  #settleInTime(refund: Refund): void {
    this.agenda.schedule(Date.parse(refund.settlesAt), () => void this.#settle(refund));
  }

  #settle(refund: Refund): Promise<void> {
    refund.settledAt = new Date(this.clock.now()).toISOString();
    refund.status = refund.willFail ? 'failed' : 'succeeded';
    refund.failureReason = refund.willFail ? 'declined_by_bank' : null;
    const payment = this.ledger.payment(refund.paymentId);
    return this.ledger.save({
      refund,
      events: [refundEvent(refund, payment, refund.settledAt)],
    });
  }
}
