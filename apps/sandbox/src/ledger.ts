import type { Clock } from './clock';
import { noJournal, type Journal, type JournalRecord } from './journal';
import { refundView, type Dispute, type Payment, type PaymentView, type Refund } from './payment';
import type { RefundView } from './payment';
import { Refusal } from './problem';
import type { WebhookEvent } from './webhook-event';
import type { WebhookOutbox } from './webhook-outbox';

type Entry = { readonly payment: Payment } | { readonly refund: Refund };

export interface Change {
  readonly payment?: Payment;
  readonly refund?: Refund;
  readonly dispute?: Dispute;
  readonly events?: readonly WebhookEvent[];
}

export interface LedgerPage {
  readonly payments: readonly PaymentView[];
  readonly refunds: readonly RefundView[];
  readonly nextCursor: string | null;
}

/** Every payment and refund, in the order of creation, with the indexes the API needs. */
export class Ledger {
  journal: Journal = noJournal;
  /** Where the pay pages are; known once the server listens. */
  baseUrl = '';
  readonly #clock: Clock;
  readonly #outbox: WebhookOutbox;
  readonly #entries: Entry[] = [];
  readonly #payments = new Map<string, Payment>();
  readonly #paymentsByReference = new Map<string, Payment>();
  readonly #refunds = new Map<string, Refund>();
  readonly #refundsByKey = new Map<string, Refund>();
  readonly #refundsByPayment = new Map<string, Refund[]>();
  readonly #disputes = new Map<string, Dispute>();
  readonly #disputesByPayment = new Map<string, Dispute[]>();

  constructor(clock: Clock, outbox: WebhookOutbox) {
    this.#clock = clock;
    this.#outbox = outbox;
  }

  get counts(): { payments: number; refunds: number } {
    return { payments: this.#payments.size, refunds: this.#refunds.size };
  }

  payment(id: string): Payment {
    const payment = this.#payments.get(id);
    if (payment === undefined) {
      throw new Refusal(404, 'payment_not_found', 'There is no payment with this id.');
    }
    return payment;
  }

  paymentByReference(reference: string): Payment | undefined {
    return this.#paymentsByReference.get(reference);
  }

  refund(id: string): Refund {
    const refund = this.#refunds.get(id);
    if (refund === undefined) {
      throw new Refusal(404, 'refund_not_found', 'There is no refund with this id.');
    }
    return refund;
  }

  refundByKey(idempotencyKey: string): Refund | undefined {
    return this.#refundsByKey.get(idempotencyKey);
  }

  dispute(id: string): Dispute {
    const dispute = this.#disputes.get(id);
    if (dispute === undefined) {
      throw new Refusal(404, 'dispute_not_found', 'There is no dispute with this id.');
    }
    return dispute;
  }

  disputesOf(paymentId: string): readonly Dispute[] {
    return this.#disputesByPayment.get(paymentId) ?? [];
  }

  addDispute(dispute: Dispute): void {
    this.#disputes.set(dispute.id, dispute);
    const siblings = this.#disputesByPayment.get(dispute.paymentId);
    if (siblings === undefined) this.#disputesByPayment.set(dispute.paymentId, [dispute]);
    else siblings.push(dispute);
  }

  refundsOf(paymentId: string): readonly Refund[] {
    return this.#refundsByPayment.get(paymentId) ?? [];
  }

  /** Never before the entry created last, also when the clock steps back: pages rely on it. */
  nextCreatedAt(): string {
    const last = this.#entries.at(-1);
    const now = new Date(this.#clock.now()).toISOString();
    return last === undefined || createdAtOf(last) < now ? now : createdAtOf(last);
  }

  addPayment(payment: Payment): void {
    this.#entries.push({ payment });
    this.#payments.set(payment.id, payment);
    this.#paymentsByReference.set(payment.reference, payment);
  }

  addRefund(refund: Refund): void {
    this.#entries.push({ refund });
    this.#refunds.set(refund.id, refund);
    if (refund.idempotencyKey !== null) this.#refundsByKey.set(refund.idempotencyKey, refund);
    const siblings = this.#refundsByPayment.get(refund.paymentId);
    if (siblings === undefined) this.#refundsByPayment.set(refund.paymentId, [refund]);
    else siblings.push(refund);
  }

  /** Makes a change durable, and only then lets its webhooks go. */
  async save({ payment, refund, dispute, events = [] }: Change): Promise<void> {
    for (const event of events) this.#outbox.add(event);
    const records: JournalRecord[] = events.map((event) => ({ event }));
    if (dispute !== undefined) records.unshift({ dispute });
    if (refund !== undefined) records.unshift({ refund });
    if (payment !== undefined) {
      payment.changedAt = new Date(this.#clock.now()).toISOString();
      records.unshift({ payment });
    }
    await this.journal.append(records);
    for (const event of events) this.#outbox.dispatch(event);
  }

  /** Entries that changed at or after `sinceMs`, from the cursor on. `limit` counts both kinds. */
  page(sinceMs: number | null, cursor: number, limit: number): LedgerPage {
    const entries: Entry[] = [];
    let next = cursor;
    for (; next < this.#entries.length && entries.length < limit; next++) {
      const entry = this.#entries[next]!;
      if (sinceMs === null || this.#changedAtMs(entry) >= sinceMs) entries.push(entry);
    }
    return {
      payments: entries.flatMap((entry) => ('payment' in entry ? [this.view(entry.payment)] : [])),
      refunds: entries.flatMap((entry) => ('refund' in entry ? [refundView(entry.refund)] : [])),
      nextCursor: next < this.#entries.length ? String(next) : null,
    };
  }

  view(payment: Payment): PaymentView {
    return {
      ...payment,
      checkoutUrl: `${this.baseUrl}/pay/${payment.id}`,
      refunds: this.refundsOf(payment.id).map(refundView),
      disputes: this.disputesOf(payment.id),
    };
  }

  restore(record: JournalRecord): void {
    if ('payment' in record) {
      const known = this.#payments.get(record.payment.id);
      if (known === undefined) this.addPayment(record.payment);
      else Object.assign(known, record.payment);
    } else if ('refund' in record) {
      const known = this.#refunds.get(record.refund.id);
      if (known === undefined) this.addRefund(record.refund);
      else Object.assign(known, record.refund);
    } else if ('dispute' in record) {
      const known = this.#disputes.get(record.dispute.id);
      if (known === undefined) this.addDispute(record.dispute);
      else Object.assign(known, record.dispute);
    } else {
      this.#outbox.restore(record.event);
    }
  }

  *snapshot(): Iterable<JournalRecord> {
    yield* this.#entries;
    for (const dispute of this.#disputes.values()) yield { dispute };
    yield* this.#outbox.snapshot();
  }

  *allPayments(): Iterable<Payment> {
    yield* this.#payments.values();
  }

  *allRefunds(): Iterable<Refund> {
    yield* this.#refunds.values();
  }

  /** A payment has changed when its refunds and disputes have, however long ago it was made. */
  #changedAtMs(entry: Entry): number {
    if ('refund' in entry) return latest(entry.refund.createdAt, entry.refund.settledAt);
    const { id, createdAt, paidAt, closedAt, changedAt = null } = entry.payment;
    const later = [...this.refundsOf(id), ...this.disputesOf(id)].flatMap((one) => [
      one.createdAt,
      one.settledAt,
    ]);
    return latest(createdAt, paidAt, closedAt, changedAt, ...later);
  }
}

function latest(...instants: readonly (string | null)[]): number {
  return Math.max(...instants.map((at) => (at === null ? 0 : Date.parse(at))));
}

function createdAtOf(entry: Entry): string {
  return 'payment' in entry ? entry.payment.createdAt : entry.refund.createdAt;
}
