import {
  LastcallError,
  type NewPayment,
  type PaymentProvider,
  type PaymentRef,
  type ProviderAnswer,
  type ProviderNotice,
  type RefundAnswer,
} from '@lastcall/orders';
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';

/** A payment in the drawer; amounts in minor units. */
interface Entry {
  readonly id: string;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  status: 'open' | 'paid' | 'closed';
  paidAt: Date;
  readonly refunds: { id: string; key: string; amount: number; failed: boolean }[];
}

/** A webhook as it is posted. */
export interface Notice {
  readonly type: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

type RefundRequest = Parameters<PaymentProvider['refund']>[0];

const CURRENCIES = ['EUR', 'USD'];
const TOLERANCE_MS = 300_000;

/**
 * The shop's payment provider: a drawer in this process, elsewhere HTTP calls to somebody. It keeps the contract
 * of providers (contract.ts), so that lastcall may ask it anything at any time, and again.
 */
export class Till implements PaymentProvider {
  readonly name = 'till';
  readonly takesRealMoney = false;
  /** Where its pages are, and its webhooks go to. */
  address = 'http://127.0.0.1';
  isAway = false;
  failsRefunds = false;
  readonly #drawer = new Map<string, Entry>();
  readonly #secret = randomUUID();

  constructor(private readonly post: (notice: Notice) => void) {}

  takes(currency: string): boolean {
    return CURRENCIES.includes(currency);
  }

  planPayment({ paymentId, amount, currency }: NewPayment) {
    if (!this.takes(currency)) {
      throw new LastcallError('currency_not_supported', `The till takes no ${currency}`);
    }
    return { reference: paymentId, amount, currency };
  }

  /** One payment for one reference, however often it is asked for. */
  async createPayment({ paymentId, amount, currency }: PaymentRef) {
    if (this.isAway) return { state: 'UNKNOWN' as const, why: 'nobody is at the till' };
    const known = this.#find({ paymentId, providerPaymentId: null });
    const id = known?.id ?? `till_${randomUUID()}`;
    const fresh = { id, reference: paymentId, amount, currency, paidAt: new Date(0), refunds: [] };
    if (!known) this.#drawer.set(id, { ...fresh, status: 'open' });
    return {
      state: 'CREATED' as const,
      providerPaymentId: id,
      checkoutUrl: `${this.address}/till/${id}`,
    };
  }

  async findPayment(ref: Pick<PaymentRef, 'paymentId' | 'providerPaymentId'>) {
    if (this.isAway) return { state: 'UNKNOWN' as const, why: 'nobody is at the till' };
    const entry = this.#find(ref);
    return entry ? answerOf(entry) : { state: 'NOT_FOUND' as const };
  }

  async closePayment(ref: PaymentRef): Promise<ProviderAnswer> {
    const entry = this.#find(ref);
    if (!this.isAway && entry?.status === 'open') entry.status = 'closed';
    return this.findPayment(ref);
  }

  /** One refund for one key, and never more than was taken. */
  async refund({ providerPaymentId, amount, idempotencyKey: key }: RefundRequest) {
    if (this.isAway) return { state: 'UNKNOWN' as const, why: 'nobody is at the till' };
    const entry = this.#drawer.get(providerPaymentId);
    const refunds = entry?.refunds ?? [];
    const known = refunds.find((one) => one.key === key);
    if (known) return refundOf(known);
    const back = refunds.reduce((sum, one) => sum + (one.failed ? 0 : one.amount), 0);
    if (entry?.status !== 'paid' || back + amount > entry.amount) {
      const why = 'more than the till has taken';
      return { state: 'FAILED' as const, providerRefundId: null, why };
    }
    const made = { id: `back_${randomUUID()}`, key, amount, failed: this.failsRefunds };
    refunds.push(made);
    this.#tell(entry, made.failed ? 'refund.failed' : 'refund.succeeded', made);
    return refundOf(made);
  }

  async findRefund(providerRefundId: string): Promise<RefundAnswer> {
    const all = [...this.#drawer.values()].flatMap(({ refunds }) => refunds);
    const found = this.isAway ? undefined : all.find(({ id }) => id === providerRefundId);
    return found ? refundOf(found) : { state: 'UNKNOWN', why: 'the till knows of no such refund' };
  }

  /** All on one page; `since` is not needed by a drawer that begins empty. */
  async *ledger() {
    if (this.isAway) throw new LastcallError('provider_error', 'Nobody is at the till');
    const payments = [...this.#drawer.values()].map((entry) => ({
      providerPaymentId: entry.id,
      paymentId: entry.reference,
      captured: entry.status === 'paid' ? moneyOf(entry) : null,
      refunds: entry.refunds.map(({ id, key, amount, failed }) => ({
        ...{ providerRefundId: id, idempotencyKey: key, amount },
        state: failed ? ('FAILED' as const) : ('SUCCEEDED' as const),
      })),
    }));
    yield { payments, next: null };
  }

  readWebhook(
    raw: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    now: Date,
  ): ProviderNotice {
    const at = String(headers['x-till-at']);
    const given = Buffer.from(String(headers['x-till-signature']));
    const right = Buffer.from(this.#sign(at, raw));
    if (given.length !== right.length || !timingSafeEqual(given, right)) {
      throw new LastcallError('bad_signature', 'This does not come from the till');
    }
    if (Math.abs(now.getTime() - Number(at)) > TOLERANCE_MS) {
      throw new LastcallError('stale_timestamp', 'The till said this long ago');
    }
    const notice = JSON.parse(raw.toString('utf8'));
    if (notice.type !== 'payment.succeeded') return notice;
    return { ...notice, money: { ...notice.money, paidAt: new Date(notice.money.paidAt) } };
  }

  /** The buyer pays; false where there is nothing to pay any more. */
  pay(id: string): boolean {
    const entry = this.#drawer.get(id);
    if (entry?.status !== 'open') return false;
    Object.assign(entry, { status: 'paid', paidAt: new Date() });
    this.#tell(entry, 'payment.succeeded');
    return true;
  }

  #find({ paymentId, providerPaymentId }: Pick<PaymentRef, 'paymentId' | 'providerPaymentId'>) {
    if (providerPaymentId !== null) return this.#drawer.get(providerPaymentId);
    return [...this.#drawer.values()].find(({ reference }) => reference === paymentId);
  }

  #tell(entry: Entry, type: string, refund?: Entry['refunds'][number]): void {
    const money = refund
      ? {
          providerRefundId: refund.id,
          idempotencyKey: refund.key,
          amount: refund.amount,
          why: null,
        }
      : { money: moneyOf(entry) };
    const about = { paymentId: entry.reference, providerPaymentId: entry.id };
    const body = JSON.stringify({ eventId: randomUUID(), type, ...about, ...money });
    const at = String(Date.now());
    const signature = this.#sign(at, body);
    this.post({ type, body, headers: { 'x-till-at': at, 'x-till-signature': signature } });
  }

  #sign(at: string, body: string | Buffer): string {
    return createHmac('sha256', this.#secret).update(`${at}.`).update(body).digest('hex');
  }
}

const moneyOf = ({ amount, currency, paidAt }: Entry) => ({ amount, currency, paidAt });

function answerOf(entry: Entry): ProviderAnswer {
  const providerPaymentId = entry.id;
  if (entry.status === 'open') return { state: 'UNPAID', providerPaymentId };
  if (entry.status === 'closed') return { state: 'CLOSED_UNPAID', providerPaymentId };
  const isBack = entry.refunds.some(({ failed }) => !failed);
  return { state: isBack ? 'REFUNDED' : 'PAID', providerPaymentId, money: moneyOf(entry) };
}

function refundOf({ id: providerRefundId, failed }: Entry['refunds'][number]): RefundAnswer {
  if (failed) return { state: 'FAILED', providerRefundId, why: 'the bank says no' };
  return { state: 'SUCCEEDED', providerRefundId };
}
