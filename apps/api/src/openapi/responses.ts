import { ORDER_STATUSES } from '@app/orders';
import { z } from 'zod';

/*
 * The answers, for the OpenAPI document. test/api/openapi.e2e.ts holds real answers against these,
 * so that the document cannot drift from what is sent.
 */

const instant = z.iso.datetime().meta({ examples: ['2026-01-31T12:00:00.000Z'] });
const amount = z.int().min(0).describe('In minor units of the currency');
const currency = z
  .string()
  .length(3)
  .describe('ISO 4217')
  .meta({ examples: ['EUR'] });
const id = z.uuid().meta({ examples: ['0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e'] });

const Refund = z.strictObject({
  id,
  status: z.enum(['requested', 'pending', 'succeeded', 'failed', 'needs_attention']),
  amount,
  reason: z.enum([
    'late_payment',
    'duplicate_payment',
    'payment_mismatch',
    'shipment_timeout',
    'operator',
  ]),
});

const Payment = z.strictObject({
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

const Order = z.strictObject({
  id,
  customerId: z.string(),
  status: z.enum(ORDER_STATUSES),
  closeReason: z
    .enum(['payment_timeout', 'customer_canceled', 'operator_closed', 'shipment_timeout'])
    .nullable(),
  items: z.array(z.strictObject({ sku: z.string(), quantity: z.int().min(1), unitPrice: amount })),
  amount,
  currency,
  createdAt: instant,
  payBy: instant
    .nullable()
    .describe('End of the payment window; the countdown shows payBy - serverNow'),
  closesAt: instant.nullable().describe('The deadline: payBy and the grace period'),
  serverNow: instant,
  paidAt: instant.nullable(),
  closedAt: instant.nullable(),
  canceledAt: instant.nullable(),
  shippedAt: instant.nullable(),
  completedAt: instant.nullable(),
  version: z.int().min(1).describe('Goes up with every change'),
  payments: z.array(Payment),
});

const Product = z.strictObject({
  sku: z.string().meta({ examples: ['TEA-001'] }),
  name: z.string(),
  unitPrice: amount,
  currency,
  available: z.int().min(0),
});

const FieldError = z.strictObject({
  field: z.string().meta({ examples: ['items[0].quantity'] }),
  message: z.string().meta({ examples: ['must be a whole number from 1 to 999'] }),
});

const Problem = z
  .looseObject({
    type: z.string().meta({ examples: ['urn:lastcall:problem:out_of_stock'] }),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    code: z.string().describe('Stable: what a program decides by'),
    instance: z.string().optional(),
    errors: z.array(FieldError).optional(),
  })
  .describe('RFC 9457');

const checks = z.strictObject({ postgres: z.enum(['up', 'down']), redis: z.enum(['up', 'down']) });

/** Every schema of the document, by the name it has there. */
export const RESPONSES = {
  Order,
  OrderPage: z.strictObject({ items: z.array(Order), nextCursor: z.string().nullable() }),
  Payment,
  ProductList: z.strictObject({ items: z.array(Product) }),
  OrderEventStream: z
    .string()
    .describe('Events whose data is {id, type, orderId, from, to, by, reason, at, version}'),
  WebhookStored: z.strictObject({ stored: z.literal(true) }),
  Overview: z.looseObject({}),
  Alive: z.strictObject({ status: z.literal('ok') }),
  Ready: z.strictObject({ status: z.enum(['ok', 'degraded']), checks }),
  Metrics: z.string(),
  Problem,
} as const satisfies Record<string, z.ZodType>;

export type ResponseName = keyof typeof RESPONSES;
