import { failpoint, queryRows, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { uuidv7 } from '../order/uuid';
import { ReadOrder } from '../closing/read-order';
import { LastcallError } from '../order/errors';
import type { PaymentStatus, PaymentView } from '../order/order';
import { type GuardedOrder, OrderGuard, orderNotFound } from '../order/order-guard';
import type { OrderStatus } from '../order/order.lifecycle';
import { onDataSource, readOrders } from '../order/order-rows';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import type { CreateAnswer, PaymentProvider, PaymentRef } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { type FoundPayment, findByKey, findOpen, type Planned, rememberKey } from './open-payments';

/** Attempts to pay one order; more are a program gone wrong. */
const MAX_PAYMENTS = 20;

export interface StartPaymentCommand {
  readonly orderId: string;
  readonly customerId: string;
  /** Default: the first of PAYMENT_PROVIDERS. */
  readonly provider?: string | undefined;
  /** The same key answers with the same payment, whatever has become of it. */
  readonly idempotencyKey?: string | undefined;
}

export interface StartedPayment {
  readonly payment: PaymentView;
  /** True when this key had started it before. */
  readonly replayed: boolean;
}

/**
 * Opens a payment for an order at the provider, or answers with the one that is open there. Our row
 * is committed, with what will be sent, before the provider is called: so that whatever it does,
 * the close knows whom to ask, and a call whose answer was lost can be repeated word for word.
 */
@Injectable()
export class StartPayment {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly reading: ReadOrder,
    private readonly providers: PaymentProviders,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * @throws {LastcallError} order_not_found, payment_window_over, order_not_payable,
   *   too_many_payments, provider_not_available, currency_not_supported, amount_too_small,
   *   amount_not_chargeable, idempotency_key_reused, payment_refused, provider_error (then trying
   *   again goes on with the same payment, or opens another one if there is none), busy
   */
  async start(command: StartPaymentCommand): Promise<StartedPayment> {
    const { orderId, customerId } = command;
    // Looking at an overdue order closes it.
    await this.reading.read(orderId, customerId);
    const provider = this.providers.choose(command.provider);
    const { payment, planned, replayed } = await this.#plan(command, provider);
    if (planned) {
      await failpoint('payment.opened');
      const answer = await provider.createPayment(planned);
      await failpoint('payment.created');
      await this.#apply(provider, planned, answer);
    }
    const views = await readOrders(onDataSource(this.dataSource), [orderId]);
    const view = views.get(orderId)?.payments.find(({ id }) => id === payment);
    if (!view) throw new Error('A payment that was just written cannot be read');
    return { payment: view, replayed };
  }

  /** The payment to answer with; `planned` when the provider still has to be called for it. */
  async #plan(
    command: StartPaymentCommand,
    provider: PaymentProvider,
  ): Promise<{ payment: string; planned?: Planned; replayed: boolean }> {
    return this.guard.withOrder(command.orderId, async (order, tx) => {
      if (order.customerId !== command.customerId) throw orderNotFound();
      const known = await findByKey(tx, command);
      // What became of it is the answer; an open one without a page has lost its call's answer.
      const isOver = known && (known.status !== 'open' || known.hasPage);
      if (isOver) return { payment: known.paymentId, replayed: true };
      assertPayable(order);
      const open = known ?? (await findOpen(tx, command.orderId, provider.name));
      const payment = open ?? (await this.#insert(tx, command.orderId, provider));
      await rememberKey(tx, command, payment.paymentId);
      const { paymentId } = payment;
      const replayed = known !== undefined;
      return payment.hasPage
        ? { payment: paymentId, replayed }
        : { payment: paymentId, planned: payment, replayed };
    });
  }

  async #insert(
    tx: Transaction,
    orderId: string,
    provider: PaymentProvider,
  ): Promise<FoundPayment> {
    const [order] = await tx.rows<{
      amount: string;
      currency: string;
      expires_at: Date;
      now: Date;
    }>(
      `SELECT amount, currency, coalesce(closes_at, now() + interval '1 day') AS expires_at,
              now() AS now
         FROM orders WHERE id = $1 AND status = 'pending_payment'
          AND (SELECT count(*) FROM payments WHERE order_id = $1) < $2`,
      [orderId, MAX_PAYMENTS],
    );
    if (!order) throw tooManyPayments();
    const { currency, expires_at: expiresAt, now } = order;
    const amount = Number(order.amount);
    const paymentId = uuidv7();
    const request = provider.planPayment({ paymentId, amount, currency, expiresAt, now });
    await tx.rows(
      `INSERT INTO payments (id, order_id, provider, amount, currency, expires_at, request)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [paymentId, orderId, provider.name, amount, currency, expiresAt, JSON.stringify(request)],
    );
    const ids = { paymentId, providerPaymentId: null, status: 'open', hasPage: false } as const;
    return { ...ids, amount, currency, expiresAt, request };
  }

  async #apply(
    provider: PaymentProvider,
    payment: PaymentRef,
    answer: CreateAnswer,
  ): Promise<void> {
    if (answer.state === 'CREATED') {
      const { providerPaymentId, checkoutUrl } = answer;
      const status = await this.#update(
        payment,
        `SET provider_payment_id = $2, checkout_url = $3`,
        [providerPaymentId, checkoutUrl],
      );
      if (status !== 'closed') return;
      // The order was closed while the provider took its time: nobody may pay there any more.
      await provider.closePayment({ ...payment, providerPaymentId });
      throw paymentWindowOver('closed');
    }
    const { state, why } = answer;
    if (state !== 'UNKNOWN') {
      // Nothing was made: nobody has to be asked about it, and no order has to wait for that.
      await this.#update(payment, `SET status = 'failed', failure = $2`, [why], true);
    }
    if (state !== 'REFUSED') throw noPayment(why);
    const { paymentId } = payment;
    this.telemetry.alert('payment_refused', { provider: provider.name, paymentId, why });
    const message = 'The payment provider refuses this payment; trying again will not help';
    throw new LastcallError('payment_refused', message, { provider: provider.name });
  }

  async #update(
    { paymentId }: PaymentRef,
    set: string,
    values: readonly unknown[],
    onlyOpen = false,
  ): Promise<PaymentStatus | undefined> {
    const [row] = await queryRows<{ status: PaymentStatus }>(
      this.dataSource,
      `UPDATE payments ${set} WHERE id = $1
         ${onlyOpen ? "AND status = 'open' AND provider_payment_id IS NULL" : ''}
       RETURNING status`,
      [paymentId, ...values],
    );
    return row?.status;
  }
}

function assertPayable(order: GuardedOrder): void {
  if (order.status === 'pending_payment' && !order.isWindowOver) return;
  if (order.status === 'pending_payment' || order.status === 'closing') {
    throw paymentWindowOver(order.status);
  }
  throw new LastcallError('order_not_payable', `This order is ${order.status}; nothing is to pay`, {
    status: order.status,
  });
}

function noPayment(why: string): LastcallError {
  const message = 'The payment provider did not open a payment; try again in a moment';
  return new LastcallError('provider_error', message, { why });
}

function paymentWindowOver(status: OrderStatus): LastcallError {
  return new LastcallError(
    'payment_window_over',
    'The time to pay this order is over; place a new one',
    { status },
  );
}

function tooManyPayments(): LastcallError {
  return new LastcallError(
    'too_many_payments',
    `This order has ${MAX_PAYMENTS} payments already; cancel it and place a new one`,
  );
}
