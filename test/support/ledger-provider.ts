import { randomUUID } from 'node:crypto';
import type { PaymentProvider, ProviderAnswer } from '@app/orders';
import {
  CAME_BACK,
  type Dispute,
  disputeOf,
  type LedgerEntry,
  lineOf,
  type Refund,
  refundByHand,
  refundOnce,
  stateOf,
} from './ledger-entry';

export type { LedgerEntry } from './ledger-entry';

type Call<Name extends keyof PaymentProvider> = PaymentProvider[Name] extends (
  ...args: infer Args
) => unknown
  ? Args[0]
  : never;
type Ref = Call<'createPayment'>;
type RefundCall = Call<'refund'>;
type CreateAnswer = Awaited<ReturnType<PaymentProvider['createPayment']>>;
type RefundAnswer = Awaited<ReturnType<PaymentProvider['refund']>>;
type LedgerPage =
  ReturnType<PaymentProvider['ledger']> extends AsyncIterable<infer Page> ? Page : never;
type Notice = Awaited<ReturnType<PaymentProvider['readWebhook']>>;

/** A webhook as it would be posted. */
export interface Posted {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

/** What it knows a payment of ours by. */
export const idAtProvider = (paymentId: string): string => `pay-${paymentId}`;

/** A provider in this process, with a real ledger: each call decides at once and has one effect. */
export class LedgerProvider implements PaymentProvider {
  readonly takesRealMoney = false;
  readonly entries = new Map<string, LedgerEntry>();
  /** Called before and after the effect of each call: to hold it up, or to lose its answer. */
  around: (call: string, when: 'before' | 'after') => Promise<void> = async () => undefined;
  /** While set, nothing is answered; the effect may be there all the same. */
  unreachable: 'before' | 'after' | undefined;
  /** Payments on a page of its ledger. */
  ledgerPage = 100;
  /** While set, every payment is refused so. */
  refusal: CreateAnswer | undefined;
  /** While set, every refund that has not been made is refused so. */
  refundRefusal: RefundAnswer | undefined;

  constructor(readonly name = 'sandbox') {}

  takes(): boolean {
    return true;
  }

  planPayment({ amount, currency }: Call<'planPayment'>): { amount: number; currency: string } {
    return { amount, currency };
  }

  async createPayment(ref: Ref): Promise<CreateAnswer> {
    await this.around('create', 'before');
    if (this.unreachable === 'before') return { state: 'UNKNOWN', why: 'away' };
    if (this.refusal) return this.refusal;
    const entry = this.#byReference(ref.paymentId) ?? this.open(ref);
    await this.around('create', 'after');
    if (this.unreachable) return { state: 'UNKNOWN', why: 'away' };
    const checkoutUrl = `https://pay.test/${entry.id}`;
    return { state: 'CREATED', providerPaymentId: entry.id, checkoutUrl };
  }

  findPayment(ref: Ref): Promise<ProviderAnswer> {
    return this.#answer('find', ref, () => undefined);
  }

  closePayment(ref: Ref): Promise<ProviderAnswer> {
    return this.#answer('close', ref, (entry) => {
      if (entry.status === 'open') entry.status = 'closed';
    });
  }

  async refund(request: RefundCall): Promise<RefundAnswer> {
    await this.around('refund', 'before');
    if (this.unreachable === 'before') return { state: 'UNKNOWN', why: 'away' };
    const entry = this.entries.get(request.providerPaymentId);
    const isMade = entry?.refunds.some(({ key }) => key === request.idempotencyKey);
    const refusal = isMade ? undefined : this.refundRefusal;
    const answer = entry ? (refusal ?? refundOnce(entry, request)) : undefined;
    await this.around('refund', 'after');
    if (this.unreachable) return { state: 'UNKNOWN', why: 'away' };
    return answer ?? { state: 'FAILED', providerRefundId: null, why: 'no such payment' };
  }

  async findRefund(providerRefundId: string): Promise<RefundAnswer> {
    await this.around('find refund', 'before');
    const refunds = [...this.entries.values()].flatMap((entry) => entry.refunds);
    const found = refunds.find(({ id }) => id === providerRefundId);
    if (found?.state === 'FAILED') return { state: 'FAILED', providerRefundId, why: CAME_BACK };
    return { state: 'SUCCEEDED', providerRefundId };
  }

  readWebhook(rawBody: Buffer): Notice {
    const notice = JSON.parse(rawBody.toString('utf8')) as Notice;
    if (notice.type !== 'payment.succeeded') return notice;
    return { ...notice, money: { ...notice.money, paidAt: new Date(notice.money.paidAt) } };
  }

  async *ledger(_since: Date, from: string | null): AsyncIterable<LedgerPage> {
    const all = [...this.entries.values()].slice(Number(from ?? 0));
    for (let n = 0; n < Math.max(1, all.length); n += this.ledgerPage) {
      await this.around('ledger', 'before');
      const isLast = n + this.ledgerPage >= all.length;
      yield {
        payments: all.slice(n, n + this.ledgerPage).map(lineOf),
        next: isLast ? null : String(Number(from ?? 0) + n + this.ledgerPage),
      };
    }
  }

  /** Writes a payment as if it had been created, for rows that a test has put into Postgres. */
  open(ref: Pick<Ref, 'paymentId' | 'amount' | 'currency'>): LedgerEntry {
    const entry: LedgerEntry = {
      id: idAtProvider(ref.paymentId),
      reference: ref.paymentId,
      amount: ref.amount,
      currency: ref.currency,
      status: 'open',
      money: undefined,
      refunds: [],
      disputes: [],
    };
    this.entries.set(entry.id, entry);
    return entry;
  }

  /** The buyer pays; undefined when the provider refuses. `late` captures on a closed payment. */
  pay(
    paymentId: string,
    paidAt: Date,
    { late = false, amount }: { late?: boolean; amount?: number | undefined } = {},
  ): Posted | undefined {
    const entry = this.#byReference(paymentId);
    if (!entry) return undefined;
    const isPayable = entry.status === 'open' || (late && entry.status !== 'paid');
    if (!isPayable) return undefined;
    entry.status = 'paid';
    entry.money = { amount: amount ?? entry.amount, currency: entry.currency, paidAt };
    return this.succeeded(entry);
  }

  /** The notice of a capture; each call is a webhook of its own. */
  succeeded(entry: LedgerEntry, eventId = randomUUID()): Posted {
    const { reference: paymentId, id: providerPaymentId, money } = entry;
    return post({ eventId, type: 'payment.succeeded', paymentId, providerPaymentId, money });
  }

  /** The notice that a payment failed; at the provider it is still open unless `ended`. */
  failed(entry: LedgerEntry, eventId = randomUUID()): Posted {
    if (entry.status === 'open') entry.status = 'failed';
    const { reference: paymentId, id: providerPaymentId } = entry;
    return post({ eventId, type: 'payment.failed', paymentId, providerPaymentId });
  }

  /** Somebody refunds in the provider's dashboard; undefined when not so much is left. */
  refundedByHand(entry: LedgerEntry, amount: number): Posted | undefined {
    const refund = refundByHand(entry, amount);
    if (!refund) return undefined;
    return this.refunded(entry, refund);
  }

  /** The notice of a refund that we have asked for. */
  refunded(entry: LedgerEntry, { id: providerRefundId, key, amount }: Refund): Posted {
    const told = { providerRefundId, idempotencyKey: key, amount, why: null };
    return this.#tell(entry, 'refund.succeeded', told);
  }

  /** One that was made comes back. */
  bounced(entry: LedgerEntry, refund: Refund): Posted {
    refund.state = 'FAILED';
    const { id: providerRefundId, key, amount } = refund;
    const told = { providerRefundId, idempotencyKey: key, amount, why: CAME_BACK };
    return this.#tell(entry, 'refund.failed', told);
  }

  /** The buyer's bank takes back what is left; undefined when there is nothing. */
  disputed(entry: LedgerEntry): Posted | undefined {
    const dispute = disputeOf(entry);
    return dispute && this.#tellDispute(entry, dispute);
  }

  /** The bank decides about a dispute, for us (`won`) or for the buyer. */
  decided(entry: LedgerEntry, dispute: Dispute, how: 'won' | 'lost'): Posted {
    dispute.state = how;
    return this.#tellDispute(entry, dispute);
  }

  #tellDispute(entry: LedgerEntry, { id, amount, state }: Dispute): Posted {
    return this.#tell(entry, `dispute.${state}`, { disputeId: id, amount });
  }

  #tell(
    { reference: paymentId, id: providerPaymentId }: LedgerEntry,
    type: string,
    data: Readonly<Record<string, unknown>>,
  ): Posted {
    return post({ eventId: randomUUID(), type, paymentId, providerPaymentId, ...data });
  }

  #byReference(paymentId: string): LedgerEntry | undefined {
    return this.entries.get(`pay-${paymentId}`);
  }

  async #answer(
    call: string,
    ref: Ref,
    act: (entry: LedgerEntry) => void,
  ): Promise<ProviderAnswer> {
    await this.around(call, 'before');
    if (this.unreachable === 'before') return { state: 'UNKNOWN', why: 'away' };
    const entry = this.#byReference(ref.paymentId);
    if (entry) act(entry);
    const answer: ProviderAnswer = entry ? stateOf(entry) : { state: 'NOT_FOUND' };
    await this.around(call, 'after');
    return this.unreachable ? { state: 'UNKNOWN', why: 'away' } : answer;
  }
}

export function post(notice: Readonly<Record<string, unknown>> & { eventId: string }): Posted {
  return { body: Buffer.from(JSON.stringify(notice)), headers: { 'webhook-id': notice.eventId } };
}
