import { CLOSE_REASONS, ORDER_STATUSES } from '@app/orders';
import { z } from 'zod';
import { amount, currency, id, instant, sku } from './response-fields';

/* What a storefront hears of orders and products. */

export const Refund = z.strictObject({
  id,
  status: z.enum(['requested', 'pending', 'succeeded', 'failed', 'needs_attention', 'canceled']),
  amount,
  reason: z.enum([
    'late_payment',
    'duplicate_payment',
    'payment_mismatch',
    'shipment_timeout',
    'customer_canceled',
    'operator_canceled',
    'returned_money',
    'operator',
  ]),
});

export const Payment = z.strictObject({
  id,
  provider: z.string().meta({ examples: ['sandbox'] }),
  providerPaymentId: z.string().nullable(),
  status: z.enum(['open', 'succeeded', 'failed', 'closed']),
  amount,
  currency,
  checkoutUrl: z.string().nullable().describe('Where the buyer pays'),
  paidAt: instant.nullable(),
  holdReason: z.string().nullable().describe('Why the money waits for an operator'),
  refund: Refund.nullable(),
});

export const OrderItem = z.strictObject({
  sku,
  quantity: z
    .int()
    .min(1)
    .meta({ examples: [2] }),
  unitPrice: amount.describe('As it was when the order was placed'),
  returned: z
    .int()
    .min(1)
    .optional()
    .describe('How many came back and are for sale again; absent while none did'),
});

export const Order = z.strictObject({
  id,
  customerId: z.string(),
  status: z.enum(ORDER_STATUSES),
  closeReason: z.enum(CLOSE_REASONS).nullable(),
  items: z.array(OrderItem),
  amount,
  currency,
  createdAt: instant,
  payBy: instant
    .nullable()
    .describe('End of the payment window; the countdown shows payBy - serverNow'),
  closesAt: instant
    .nullable()
    .describe(
      'The deadline, payBy and the grace period; null once nothing closes the order any more',
    ),
  serverNow: instant,
  paidAt: instant.nullable(),
  closedAt: instant.nullable(),
  canceledAt: instant.nullable(),
  shippedAt: instant.nullable(),
  completedAt: instant.nullable(),
  shipment: z
    .strictObject({
      carrier: z
        .string()
        .nullable()
        .meta({ examples: ['DHL'] }),
      trackingNumber: z
        .string()
        .nullable()
        .meta({ examples: ['00340434161094042557'] }),
    })
    .nullable()
    .describe('How to follow the parcel, where the merchant has said so'),
  version: z.int().min(1).describe('Goes up with every change'),
  balance: z
    .strictObject({
      captured: amount,
      refunded: amount.describe('Has gone back, by our refunds or at the provider'),
      disputed: amount.describe('Taken by disputes that are open or lost'),
      held: amount.describe('Waits for an operator'),
    })
    .describe("What the order's payments hold, in minor units of its currency"),
  payments: z.array(Payment),
});

export const Product = z.strictObject({
  sku,
  name: z.string().meta({ examples: ['Sencha, 100 g'] }),
  unitPrice: amount,
  currency,
  available: z.int().min(0),
});

export const OrderEvent = z
  .strictObject({
    id: z
      .string()
      .describe('The place in the history of this order; what Last-Event-ID resumes after'),
    orderId: id,
    version: z.int().min(1),
    type: z.string().meta({ examples: ['order.paid'] }),
    from: z.enum(ORDER_STATUSES).nullable(),
    to: z.enum(ORDER_STATUSES),
    by: z.string().meta({ examples: ['provider'] }),
    reason: z.string().nullable(),
    at: instant,
  })
  .describe('A change of an order; the data of one server-sent event');
