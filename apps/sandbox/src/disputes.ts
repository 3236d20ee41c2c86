import type { Clock } from './clock';
import { newId } from './id';
import type { Ledger } from './ledger';
import type { Dispute } from './payment';
import { Refusal } from './problem';
import { disputeEvent } from './webhook-event';

/** The life of a dispute: open, then won (by the merchant) or lost. Its money is away until won. */
export class Disputes {
  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  /** The buyer's bank takes the money back; by default all that was captured. */
  async open(paymentId: string, wanted?: number): Promise<Dispute> {
    const payment = this.ledger.payment(paymentId);
    if (payment.status !== 'paid') {
      throw new Refusal(409, 'payment_not_paid', 'Nothing was captured for this payment.');
    }
    const amount = wanted ?? payment.capturedAmount;
    const taken = this.ledger
      .disputesOf(paymentId)
      .filter(({ status }) => status !== 'won')
      .reduce((sum, { amount, returned = 0 }) => sum + amount - returned, 0);
    if (taken + amount > payment.capturedAmount) {
      const detail = `Of the ${payment.capturedAmount} captured, ${taken} is disputed already.`;
      throw new Refusal(409, 'dispute_exceeds_captured', detail);
    }
    const dispute: Dispute = {
      id: newId('dp'),
      paymentId,
      amount,
      currency: payment.capturedCurrency ?? payment.currency,
      createdAt: new Date(this.clock.now()).toISOString(),
      status: 'open',
      settledAt: null,
    };
    this.ledger.addDispute(dispute);
    const events = [disputeEvent(dispute, payment, dispute.createdAt)];
    await this.ledger.save({ dispute, events });
    return dispute;
  }

  /** The bank decides, once; of one that is lost, so much may come back all the same. */
  async decide(id: string, status: 'won' | 'lost', returned?: number): Promise<Dispute> {
    const dispute = this.ledger.dispute(id);
    if (dispute.status !== 'open') {
      throw new Refusal(409, 'dispute_decided', `This dispute is ${dispute.status}.`);
    }
    if ((returned ?? 0) > dispute.amount) {
      const detail = `Of the ${dispute.amount} disputed, no more can come back.`;
      throw new Refusal(409, 'returned_exceeds_disputed', detail);
    }
    dispute.status = status;
    if (returned !== undefined) dispute.returned = returned;
    dispute.settledAt = new Date(this.clock.now()).toISOString();
    const payment = this.ledger.payment(dispute.paymentId);
    const events = [disputeEvent(dispute, payment, dispute.settledAt)];
    await this.ledger.save({ dispute, events });
    return dispute;
  }
}
