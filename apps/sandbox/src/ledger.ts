import type { Clock } from './clock';
import { noJournal, type Journal, type JournalRecord } from './journal';
import { refundView, type Payment, type PaymentView, type Refund } from './payment';
import type { RefundView } from './payment';
import { Refusal } from './problem';
import type { WebhookEvent } from './webhook-event';
import type { WebhookOutbox } from './webhook-outbox';

type Entry = { readonly payment: Payment } | { readonly refund: Refund };

export interface Change {
  readonly payment?: Payment;
  readonly refund?: Refund;
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
    this.#refundsByKey.set(refund.idempotencyKey, refund);
    const siblings = this.#refundsByPayment.get(refund.paymentId);
    if (siblings === undefined) this.#refundsByPayment.set(refund.paymentId, [refund]);
    else siblings.push(refund);
  }

  /** Makes a change durable, and only then lets its webhooks go. */
  async save({ payment, refund, events = [] }: Change): Promise<void> {
    for (const event of events) this.#outbox.add(event);
    const records: JournalRecord[] = events.map((event) => ({ event }));
    if (refund !== undefined) records.unshift({ refund });
    if (payment !== undefined) records.unshift({ payment });
    await this.journal.append(records);
    for (const event of events) this.#outbox.dispatch(event);
  }

  /** Entries created at or after `sinceMs`, from the cursor on. `limit` counts both kinds. */
  page(sinceMs: number | null, cursor: number, limit: number): LedgerPage {
    const from = Math.max(cursor, sinceMs === null ? 0 : this.#firstSince(sinceMs));
    const entries = this.#entries.slice(from, from + limit);
    const next = from + entries.length;
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
    } else {
      this.#outbox.restore(record.event);
    }
  }

  *snapshot(): Iterable<JournalRecord> {
    yield* this.#entries;
    yield* this.#outbox.snapshot();
  }

  *allPayments(): Iterable<Payment> {
    yield* this.#payments.values();
  }

  *allRefunds(): Iterable<Refund> {
    yield* this.#refunds.values();
  }

  #firstSince(sinceMs: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Date.parse(createdAtOf(this.#entries[middle]!)) < sinceMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function createdAtOf(entry: Entry): string {
  return 'payment' in entry ? entry.payment.createdAt : entry.refund.createdAt;
}
