import {
  LastcallError,
  type PaymentProvider,
  type PaymentRef,
  type ProviderAnswer,
  type ProviderNotice,
  type RefundAnswer,
} from '@lastcall/orders/targets';
import { ConflictException } from '@nestjs/common';
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';

/** The shop's payment provider: here a drawer in this process, elsewhere HTTP calls to somebody. */
export class Till implements PaymentProvider {
  readonly name = 'till';
  readonly takesRealMoney = false;
  readonly drawer = new Map<string, { status: string; amount: number; refunded: number }>();
  readonly #secret = randomUUID();

  takes = () => true;
  planPayment = () => ({});
  async createPayment({ paymentId, amount }: PaymentRef) {
    if (!this.drawer.has(paymentId)) {
      this.drawer.set(paymentId, { status: 'open', amount, refunded: 0 });
    }
    return {
      state: 'CREATED' as const,
      providerPaymentId: paymentId,
      checkoutUrl: `/till/${paymentId}`,
    };
  }
  async findPayment({ paymentId, currency }: PaymentRef): Promise<ProviderAnswer> {
    const entry = this.drawer.get(paymentId);
    if (!entry) return { state: 'NOT_FOUND' };
    const money = { amount: entry.amount, currency, paidAt: new Date() };
    if (entry.status === 'paid') return { state: 'PAID', providerPaymentId: paymentId, money };
    const state = entry.status === 'open' ? 'UNPAID' : 'CLOSED_UNPAID';
    return { state, providerPaymentId: paymentId };
  }
  async closePayment(ref: PaymentRef): Promise<ProviderAnswer> {
    const entry = this.drawer.get(ref.paymentId);
    if (entry?.status === 'open') entry.status = 'closed';
    return this.findPayment(ref);
  }
  async refund({
    paymentId,
    amount,
  }: {
    paymentId: string;
    amount: number;
  }): Promise<RefundAnswer> {
    const entry = this.drawer.get(paymentId);
    if (entry) entry.refunded = amount;
    return { state: 'SUCCEEDED', providerRefundId: `back-${paymentId}` };
  }
  findRefund = async (providerRefundId: string): Promise<RefundAnswer> => ({
    ...{ state: 'SUCCEEDED', providerRefundId },
  });
  async *ledger() {
    yield { payments: [], next: null };
  }

  /** The buyer pays, on a page that may have been left open for hours; the till tells the shop. */
  pay(paymentId: string): { body: string; signature: string } {
    const entry = this.drawer.get(paymentId);
    if (!entry || entry.status === 'paid') throw new ConflictException('nothing to pay');
    entry.status = 'paid';
    const body = JSON.stringify({ eventId: randomUUID(), paymentId, amount: entry.amount });
    return { body, signature: this.#sign(body) };
  }
  readWebhook(
    raw: Buffer,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): ProviderNotice {
    const given = Buffer.from(String(headers['x-signature']));
    const right = Buffer.from(this.#sign(raw));
    if (given.length !== right.length || !timingSafeEqual(given, right)) {
      throw new LastcallError('bad_signature', 'This does not come from the till');
    }
    const { eventId, paymentId, amount } = JSON.parse(raw.toString('utf8')) as {
      [name: string]: never;
    };
    const money = { amount, currency: 'EUR', paidAt: new Date() };
    return { type: 'payment.succeeded', eventId, paymentId, providerPaymentId: paymentId, money };
  }
  #sign(body: string | Buffer): string {
    return createHmac('sha256', this.#secret).update(body).digest('hex');
  }
}
