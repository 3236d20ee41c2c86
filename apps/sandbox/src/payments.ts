import type { Agenda } from './agenda';
import type { Clock } from './clock';
import type { FaultBox } from './faults';
import { newId } from './id';
import type { Ledger } from './ledger';
import type { Line, Payment } from './payment';
import { invalid, Refusal } from './problem';
import { paymentEvent } from './webhook-event';

export interface NewPayment {
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt?: string | null | undefined;
  readonly payBy?: string | null | undefined;
  readonly lines?: readonly Line[] | null | undefined;
  readonly successUrl?: string | null | undefined;
  readonly cancelUrl?: string | null | undefined;
}

/** More time for a payment that is open. */
export interface MoreTime {
  readonly expiresAt: string;
  readonly payBy?: string | undefined;
}

/** What the buyer does; by default just what was asked, now. */
export interface BuyerPays {
  readonly paidAt?: string | undefined;
  readonly amount?: number | undefined;
  readonly currency?: string | undefined;
  readonly afterClose?: boolean | undefined;
}

/**
 * The life of a payment: open, then one of paid, closed and failed. Each step decides and changes
 * the row without giving way to another request, so that of two that meet one wins.
 */
export class Payments {
  constructor(
    private readonly ledger: Ledger,
    private readonly agenda: Agenda,
    private readonly clock: Clock,
    private readonly faults: FaultBox,
  ) {}

  async create(wanted: NewPayment): Promise<{ payment: Payment; created: boolean }> {
    const known = this.ledger.paymentByReference(wanted.reference);
    if (known !== undefined) {
      if (known.amount !== wanted.amount || known.currency !== wanted.currency) {
        const detail = 'A payment with this reference exists, with another amount or currency.';
        throw new Refusal(409, 'reference_reused', detail);
      }
      return { payment: this.find(known.id), created: false };
    }
    const expiresAt = wanted.expiresAt ?? null;
    if (expiresAt !== null && Date.parse(expiresAt) <= this.clock.now()) {
      throw invalid([{ field: 'expiresAt', message: 'must be in the future' }]);
    }
    const lines = wanted.lines ?? [];
    const sum = lines.reduce((total, { quantity, unitPrice }) => total + quantity * unitPrice, 0);
    if (lines.length > 0 && sum !== wanted.amount) {
      throw invalid([{ field: 'lines', message: `must add up to the amount, and are ${sum}` }]);
    }
    const payment: Payment = {
      id: newId('pay'),
      reference: wanted.reference,
      amount: wanted.amount,
      currency: wanted.currency,
      createdAt: this.ledger.nextCreatedAt(),
      expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      status: 'open',
      paidAt: null,
      closedAt: null,
      capturedAmount: 0,
      capturedCurrency: null,
      payBy: wanted.payBy ?? null,
      lines,
      successUrl: wanted.successUrl ?? null,
      cancelUrl: wanted.cancelUrl ?? null,
    };
    this.ledger.addPayment(payment);
    this.#expireInTime(payment);
    await this.ledger.save({ payment });
    return { payment, created: true };
  }

  /** The payment as it is now: one that is overdue is closed by being looked at. */
  find(id: string): Payment {
    const payment = this.ledger.payment(id);
    this.#closeIfExpired(payment);
    return payment;
  }

  findByReference(reference: string): Payment[] {
    const payment = this.ledger.paymentByReference(reference);
    return payment === undefined ? [] : [this.find(payment.id)];
  }

  async pay(id: string, buyer: BuyerPays): Promise<Payment> {
    const payment = this.find(id);
    if (!this.#landsAfterClose(payment, buyer)) this.#refuseUnlessOpen(payment);
    const now = this.#now();
    payment.status = 'paid';
    payment.paidAt = buyer.paidAt === undefined ? now : new Date(buyer.paidAt).toISOString();
    payment.capturedAmount = buyer.amount ?? payment.amount;
    payment.capturedCurrency = buyer.currency ?? payment.currency;
    const events = [paymentEvent('payment.succeeded', payment, now)];
    if (this.faults.current.doubleSuccess) {
      events.push(paymentEvent('payment.succeeded', payment, now));
    }
    await this.ledger.save({ payment, events });
    return payment;
  }

  /** As bank transfers do: the money moved before the close, and the provider hears of it after. */
  #landsAfterClose({ status, closedAt }: Payment, buyer: BuyerPays): boolean {
    if (status !== 'closed' || closedAt === null) return false;
    const movedInTime =
      buyer.paidAt !== undefined && Date.parse(buyer.paidAt) < Date.parse(closedAt);
    return movedInTime || (buyer.afterClose ?? this.faults.current.captureAfterClose);
  }

  async fail(id: string): Promise<Payment> {
    const payment = this.find(id);
    if (payment.status === 'failed') return payment;
    this.#refuseUnlessOpen(payment);
    payment.status = 'failed';
    const events = [paymentEvent('payment.failed', payment, this.#now())];
    await this.ledger.save({ payment, events });
    return payment;
  }

  /** Never ends earlier than it would have: so that two extensions may arrive in any order. */
  async extend(id: string, { expiresAt, payBy }: MoreTime): Promise<Payment> {
    const payment = this.find(id);
    this.#refuseUnlessOpen(payment);
    payment.expiresAt = later(payment.expiresAt, expiresAt);
    if (payBy !== undefined) payment.payBy = later(payment.payBy ?? payBy, payBy);
    // The entry of before finds that it came too early.
    this.#expireInTime(payment);
    await this.ledger.save({ payment });
    return payment;
  }

  /** Closed for good, by the merchant. A payment that has ended without money stays as it is. */
  async close(id: string): Promise<Payment> {
    const payment = this.find(id);
    if (payment.status === 'paid') this.#refuseUnlessOpen(payment);
    if (payment.status === 'open') await this.#close(payment);
    return payment;
  }

  /** Takes up what was open when the process stopped. */
  resume(): void {
    for (const payment of this.ledger.allPayments()) {
      if (payment.status === 'open') this.#expireInTime(payment);
    }
  }

  #expireInTime(payment: Payment): void {
    if (payment.expiresAt === null) return;
    this.agenda.schedule(Date.parse(payment.expiresAt), () => this.#closeIfExpired(payment));
  }

  #closeIfExpired(payment: Payment): void {
    if (payment.status !== 'open' || payment.expiresAt === null) return;
    if (Date.parse(payment.expiresAt) > this.clock.now()) return;
    void this.#close(payment);
  }

  #close(payment: Payment): Promise<void> {
    payment.status = 'closed';
    payment.closedAt = this.#now();
    const events = [paymentEvent('payment.closed', payment, payment.closedAt)];
    return this.ledger.save({ payment, events });
  }

  #refuseUnlessOpen(payment: Payment): void {
    if (payment.status === 'open') return;
    const [code, detail] = {
      paid: ['already_paid', 'This payment has been paid.'] as const,
      closed: ['payment_closed', 'This payment is closed and can no longer be paid.'] as const,
      failed: ['payment_failed', 'This payment has failed.'] as const,
    }[payment.status];
    throw new Refusal(409, code, detail, { payment: this.ledger.view(payment) });
  }

  #now(): string {
    return new Date(this.clock.now()).toISOString();
  }
}

/** Null is never, and nothing is later. */
function later(known: string | null, wanted: string): string | null {
  if (known === null) return null;
  return new Date(Math.max(Date.parse(known), Date.parse(wanted))).toISOString();
}
