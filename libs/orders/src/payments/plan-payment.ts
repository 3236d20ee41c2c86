import type { Transaction } from '@app/timeout';
import { LastcallError } from '../order/errors';
import { uuidv7 } from '../order/uuid';
import type { NewPayment, PaymentLine, PaymentProvider } from '../providers/payment-provider';
import type { FoundPayment } from './open-payments';

/** Payments of one order at its provider; more are a program gone wrong. */
const MAX_MADE = 20;
/** With those that the provider has not made, as it was away; somebody may have tried all the time. */
const MAX_TRIES = 500;

interface OrderRow {
  amount: string;
  currency: string;
  pay_by: Date | null;
  expires_at: Date;
  now: Date;
  lines: PaymentLine[];
}

/** Writes the row of a new payment, with what will be sent to open it at the provider. */
export async function planPayment(
  tx: Transaction,
  orderId: string,
  provider: PaymentProvider,
  returnUrl: string | null,
): Promise<FoundPayment> {
  // A product that is gone has no name any more; its line has the sku.
  const [order] = await tx.rows<OrderRow>(
    `SELECT amount, currency, pay_by, now() AS now,
            coalesce(closes_at, now() + interval '1 day') AS expires_at,
            (SELECT json_agg(json_build_object('name', coalesce(p.name, i.sku),
                                               'quantity', i.quantity,
                                               'unitPrice', i.unit_price) ORDER BY i.sku)
               FROM order_items i LEFT JOIN products p ON p.sku = i.sku
              WHERE i.order_id = o.id) AS lines
       FROM orders o WHERE id = $1 AND status = 'pending_payment'
        AND (SELECT count(*) < $3
                    AND count(*) FILTER (WHERE status <> 'failed' OR provider_payment_id IS NOT NULL) < $2
               FROM payments WHERE order_id = $1)`,
    [orderId, MAX_MADE, MAX_TRIES],
  );
  if (!order) throw tooManyPayments();
  const { currency, pay_by: payBy, expires_at: expiresAt, now, lines } = order;
  const amount = Number(order.amount);
  const paymentId = uuidv7();
  const payment: NewPayment = {
    paymentId,
    amount,
    currency,
    expiresAt,
    now,
    checkout: { orderId, payBy, lines, returnUrl },
  };
  const request = provider.planPayment(payment);
  await tx.rows(
    `INSERT INTO payments (id, order_id, provider, amount, currency, expires_at, request)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [paymentId, orderId, provider.name, amount, currency, expiresAt, JSON.stringify(request)],
  );
  const fresh = { providerPaymentId: null, status: 'open', isNew: true } as const;
  const page = { hasPage: false, mayHaveEnded: false } as const;
  return {
    ...fresh,
    ...page,
    paymentId,
    provider: provider.name,
    amount,
    currency,
    expiresAt,
    request,
  };
}

function tooManyPayments(): LastcallError {
  return new LastcallError(
    'too_many_payments',
    'This order has too many payments already; cancel it and place a new one',
  );
}
