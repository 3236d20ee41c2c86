import { hasMethods, type Tx } from '@app/timeout';
import type { ClosesOrders, OpenOrder, PaidOrder, TargetPayment } from './close-target';

/**
 * A shop's own target, with its answers checked. What SQL gives for text may be a number, and for an
 * amount a text: both are made what they have to be. What is missing, and what contradicts the question, is a
 * bug of the shop's, and undoes the transaction before money or orders suffer from it.
 */
export class CheckedTarget {
  /** @throws {TypeError} for one that lacks a method: its orders would never close */
  constructor(
    readonly kind: string,
    private readonly target: ClosesOrders,
  ) {
    const lacked = METHODS.filter((name) => !hasMethods(target, [name]));
    if (lacked.length > 0) throw this.#error(`it must have the methods ${lacked.join(', ')}`);
  }

  async lockOpen(orderIds: readonly string[], tx: Tx): Promise<Map<string, boolean>> {
    if (orderIds.length === 0) return new Map();
    const open = (await this.target.lockOpen(orderIds, tx)).map(toOpenOrder);
    this.#assertAsked('lockOpen', orderIds, idsOf(open));
    return new Map(open.map(({ id, locked }) => [id, locked]));
  }

  async openPayments(orderIds: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    if (orderIds.length === 0) return [];
    const payments = (await this.target.openPayments(orderIds, tx)).map((one) => this.#sound(one));
    const orders = payments.map(({ orderId }) => orderId);
    this.#assertAsked('openPayments', orderIds, orders);
    return payments;
  }

  async findPayments(paymentIds: readonly string[], tx: Tx): Promise<TargetPayment[]> {
    if (paymentIds.length === 0) return [];
    const payments = (await this.target.findPayments(paymentIds, tx)).map((one) =>
      this.#sound(one),
    );
    const found = payments.map(({ paymentId }) => paymentId);
    this.#assertAsked('findPayments', paymentIds, found);
    return payments;
  }

  async close(orderIds: readonly string[], reason: string, tx: Tx): Promise<void> {
    if (orderIds.length === 0) return;
    const closed = (await this.target.close(orderIds, reason, tx)).map(String);
    this.#assertAll('close', orderIds, closed);
  }

  async markPaid(orders: readonly PaidOrder[], tx: Tx): Promise<void> {
    if (orders.length === 0) return;
    const paid = (await this.target.markPaid(orders, tx)).map(String);
    this.#assertAll('markPaid', idsOf(orders), paid);
  }

  async fence(orderIds: readonly string[], tx: Tx): Promise<void> {
    if (orderIds.length > 0) await this.target.fence?.(orderIds, tx);
  }

  #sound(payment: TargetPayment): TargetPayment {
    const lacked = NEEDED.find((name) => payment[name] == null);
    if (lacked) throw this.#error(`${nameOf(payment)}: ${lacked} is missing: ${WRITTEN_FIRST}`);
    const amount = Number(payment.amount);
    const expiresAt = new Date(payment.expiresAt);
    const paymentId = String(payment.paymentId);
    const wrong =
      (!Number.isSafeInteger(amount) && 'amount is no whole number of minor units') ||
      (typeof payment.currency !== 'string' && 'currency is missing') ||
      (typeof payment.provider !== 'string' && 'provider is missing') ||
      (Number.isNaN(expiresAt.getTime()) && 'expiresAt is no instant');
    if (wrong) throw this.#error(`payment ${paymentId}: ${wrong}`);
    const { provider, currency, request = null } = payment;
    const providerPaymentId = payment.providerPaymentId || null;
    const orderId = String(payment.orderId);
    const ref = { paymentId, providerPaymentId, amount, currency };
    return { ...ref, expiresAt, request, orderId, provider };
  }

  #assertAsked(method: string, asked: readonly string[], answered: readonly string[]): void {
    const known = new Set(asked);
    const stranger = answered.find((id) => !known.has(id));
    if (stranger === undefined) return;
    throw this.#error(`${method} answered with ${stranger}, which it was not asked about`);
  }

  #assertAll(method: string, asked: readonly string[], done: readonly string[]): void {
    this.#assertAsked(method, asked, done);
    const changed = new Set(done);
    const left = asked.find((id) => !changed.has(id));
    if (left === undefined) return;
    throw this.#error(
      `${method} left out order ${left}, which lockOpen had locked: it has to change all of them, ` +
        'and to answer with their ids',
    );
  }

  #error(what: string): TypeError {
    return new TypeError(`The close target "${this.kind}": ${what}`);
  }
}

const METHODS = [
  'lockOpen',
  'openPayments',
  'findPayments',
  'close',
  'markPaid',
] as const satisfies readonly (keyof ClosesOrders)[];

/** Made a text, a number or an instant, SQL's NULL would be one that is wrong. */
const NEEDED = ['paymentId', 'orderId', 'amount', 'expiresAt'] as const;
const WRITTEN_FIRST =
  'it has to be in the row of a payment before its provider is asked to open it, ' +
  'and in the answers of openPayments and findPayments';

const nameOf = ({ paymentId, orderId }: TargetPayment): string =>
  paymentId == null ? `a payment of order ${orderId}` : `payment ${paymentId}`;
const toOpenOrder = ({ id, locked }: OpenOrder): OpenOrder => ({ id: String(id), locked });
const idsOf = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id);
