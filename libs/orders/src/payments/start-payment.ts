import { failpoint, queryRows } from '@app/timeout';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { LastcallError } from '../order/errors';
import type { PaymentStatus, PaymentView } from '../order/order';
import type { OrderStatus } from '../order/order.lifecycle';
import { OrderGuard, orderNotFound, type GuardedOrder } from '../order/order-guard';
import { onDataSource, readOrders } from '../order/order-rows';
import type { CreatedPayment, PaymentProvider, PaymentRef } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { ReadOrder } from '../closing/read-order';

/** Attempts to pay one order; more are a program gone wrong. */
const MAX_PAYMENTS = 20;

/**
 * Opens a payment for an order at the provider. Our row is committed before the provider is
 * called, so that whatever it does, the close knows whom to ask.
 */
@Injectable()
export class StartPayment {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly reading: ReadOrder,
    private readonly providers: PaymentProviders,
  ) {}

  /**
   * @throws {LastcallError} order_not_found, payment_window_over, order_not_payable,
   *   too_many_payments, provider_error (then trying again opens another payment), busy
   */
  async start(orderId: string, customerId: string): Promise<PaymentView> {
    // Looking at an overdue order closes it.
    await this.reading.read(orderId, customerId);
    const provider = this.providers.choose(undefined);
    const payment = await this.#open(orderId, customerId, provider.name);
    await failpoint('payment.opened');
    const created = await provider.createPayment(payment);
    await failpoint('payment.created');
    const [row] = await queryRows<{ status: PaymentStatus }>(
      this.dataSource,
      `UPDATE payments SET provider_payment_id = $2, checkout_url = $3 WHERE id = $1
       RETURNING status`,
      [payment.paymentId, created.providerPaymentId, created.checkoutUrl],
    );
    if (row?.status === 'closed') await refuseTooLate(provider, payment, created);
    const views = await readOrders(onDataSource(this.dataSource), [orderId]);
    const view = views.get(orderId)?.payments.find(({ id }) => id === payment.paymentId);
    if (!view) throw new Error('A payment that was just written cannot be read');
    return view;
  }

  async #open(orderId: string, customerId: string, provider: string): Promise<PaymentRef> {
    return this.guard.withOrder(orderId, async (order, tx) => {
      assertPayable(order, customerId);
      const paymentId = uuidv7();
      const [row] = await tx.rows<{ amount: string; currency: string; expires_at: Date }>(
        `INSERT INTO payments (id, order_id, provider, amount, currency, expires_at)
         SELECT $1, id, $3, amount, currency, coalesce(closes_at, now() + interval '1 day')
           FROM orders WHERE id = $2 AND status = 'pending_payment'
            AND (SELECT count(*) FROM payments WHERE order_id = $2) < $4
         RETURNING amount, currency, expires_at`,
        [paymentId, orderId, provider, MAX_PAYMENTS],
      );
      if (!row) throw tooManyPayments();
      return {
        paymentId,
        providerPaymentId: null,
        amount: Number(row.amount),
        currency: row.currency,
        expiresAt: row.expires_at,
      };
    });
  }
}

/** The order was closed while the provider took its time: nobody may pay there any more. */
async function refuseTooLate(
  provider: PaymentProvider,
  payment: PaymentRef,
  { providerPaymentId }: CreatedPayment,
): Promise<never> {
  await provider.closePayment({ ...payment, providerPaymentId });
  throw paymentWindowOver('closed');
}

function assertPayable(order: GuardedOrder, customerId: string): void {
  if (order.customerId !== customerId) throw orderNotFound();
  if (order.status === 'pending_payment' && !order.isWindowOver) return;
  if (order.status === 'pending_payment' || order.status === 'closing') {
    throw paymentWindowOver(order.status);
  }
  throw new LastcallError('order_not_payable', `This order is ${order.status}; nothing is to pay`, {
    status: order.status,
  });
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
