import { CLOSE_REASONS, DELIVERY_STATUSES, ORDER_STATUSES, WEBHOOK_STATUSES } from '@app/orders';
import { z } from 'zod';
import { schemaAt } from './json-schema';

/*
 * The answers, for the OpenAPI document. test/api/openapi.e2e.ts holds real answers against these,
 * so that the document cannot drift from what is sent.
 */

const instant = z.iso.datetime().meta({ examples: ['2026-01-31T12:00:00.000Z'] });
const amount = z
  .int()
  .min(0)
  .describe('In minor units of the currency')
  .meta({ examples: [1250] });
const sku = z.string().meta({ examples: ['TEA-SENCHA'] });
const currency = z
  .string()
  .length(3)
  .describe('ISO 4217')
  .meta({ examples: ['EUR'] });
const id = z.uuid().meta({ examples: ['0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e'] });

const Refund = z.strictObject({
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

const OrderItem = z.strictObject({
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

const Order = z.strictObject({
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

const Product = z.strictObject({
  sku,
  name: z.string().meta({ examples: ['Sencha, 100 g'] }),
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

const OrderEvent = z
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

const count = z.int().min(0);

const Overview = z
  .strictObject({
    open: z
      .strictObject({
        ...{ total: count, isMore: z.boolean(), dueIn1m: count, dueIn5m: count, dueIn10m: count },
        dueByMinute: z.array(count),
      })
      .describe('Unpaid orders by when they are due; `isMore`: the last ones were not counted'),
    closing: count,
    overdueDeadlines: count,
    oldestLagMs: count,
    lag: z
      .strictObject({ p50Ms: z.int(), p99Ms: z.int(), maxMs: z.int() })
      .describe('How late deadlines closed in the last 60 minutes, each to within a tenth'),
    closedBy: z.record(z.string(), count).describe('Closes of the last 60 minutes, by whom'),
    closesCountedTo: instant.describe('Closes since then may not be in `lag` and `closedBy` yet'),
    refunds: z
      .strictObject({
        requested: count,
        pending: count,
        succeeded: count,
        failed: count,
        needs_attention: count,
        canceled: count,
      })
      .describe('By status; above 10,000 `succeeded` is an estimate'),
    heldDeadlines: count,
    heldWebhooks: count,
    heldPayments: count,
  })
  .describe('What an operator wants to see first');

const OrderDetails = z
  .strictObject({
    order: Order,
    lagMs: z.int().nullable().describe('How late a timeout closed it'),
    history: z.array(
      z.strictObject({
        id: z.string(),
        orderId: id,
        version: z.int().min(1),
        type: z.string().meta({ examples: ['order.paid'] }),
        from: z.enum(ORDER_STATUSES).nullable(),
        to: z.enum(ORDER_STATUSES),
        by: z.string().meta({ examples: ['operator'] }),
        actor: z.string().nullable(),
        reason: z.string().nullable(),
        at: instant,
      }),
    ),
    refunds: z.array(
      Refund.extend({
        paymentId: id,
        currency,
        attempt: z.int().min(1),
        error: z.string().nullable(),
        createdAt: instant,
        finishedAt: instant.nullable(),
      }),
    ),
    deadlines: z.array(
      z.strictObject({
        kind: z.string().meta({ examples: ['payment'] }),
        dueAt: instant,
        version: z.int(),
        failures: count,
        alarm: z.enum(['armed', 'none', 'unknown']),
        alarmAt: instant.nullable(),
      }),
    ),
    held: z
      .array(
        z.strictObject({
          kind: z.string(),
          subjectId: id,
          dueAt: instant,
          failures: count,
          error: z.string().nullable(),
          heldAt: instant,
        }),
      )
      .describe('Deadlines set aside for an operator'),
    webhooks: z
      .array(
        z.strictObject({
          id,
          provider: z.string().meta({ examples: ['sandbox'] }),
          eventId: z.string(),
          type: z.string().meta({ examples: ['payment.succeeded'] }),
          paymentId: z.string().nullable(),
          status: z.enum(WEBHOOK_STATUSES),
          result: z.string().nullable(),
          receivedAt: instant,
          processedAt: instant.nullable(),
        }),
      )
      .describe('What providers told of its payments, newest first; settled ones are kept a week'),
    timeline: z
      .array(
        z.strictObject({
          at: instant,
          kind: z.enum(['order', 'payment', 'money', 'webhook', 'operator', 'deadline', 'held']),
          what: z.string().meta({ examples: ['money.captured'] }),
          by: z.string().nullable(),
          actor: z.string().nullable(),
          reason: z.string().nullable(),
          subjectId: z.string().nullable().describe('The payment, refund or webhook it is about'),
          amount: amount.nullable(),
          currency: currency.nullable(),
        }),
      )
      .describe('Everything that happened, oldest first; deadlines stand where they are due'),
  })
  .describe('All that is known of an order; looking at it changes nothing');

const WebhookEndpoint = z.strictObject({
  id,
  url: z.string().meta({ examples: ['https://shop.example/lastcall'] }),
  events: z.array(z.string()).meta({ examples: [['order.paid', 'order.closed']] }),
  status: z.enum(['on', 'off']).describe('off: nothing is sent; what waits is kept for three days'),
  reason: z.string().nullable().describe('Why it is off'),
  createdAt: instant,
  failingSince: instant.nullable().describe('Since when every attempt has failed'),
  lastDeliveredAt: instant.nullable(),
  previousSecretUntil: instant
    .nullable()
    .describe('Until when the secret before the present one signs as well'),
});

const Delivery = z.strictObject({
  id: id.describe('webhook-id is this with "msg_" before it'),
  orderId: id,
  version: z.int().min(1),
  type: z.string().meta({ examples: ['order.paid'] }),
  status: z
    .enum(DELIVERY_STATUSES)
    .describe('dead: given up after three days; it can be sent again'),
  attempts: count,
  answer: z.int().nullable().describe('The HTTP status of the last attempt'),
  error: z.string().nullable(),
  createdAt: instant,
  nextAttemptAt: instant.nullable(),
  settledAt: instant.nullable(),
});

const productEntry = {
  sku,
  name: z.string().meta({ examples: ['Sencha, 100 g'] }),
  unitPrice: amount,
  currency,
  available: count.describe('Can be ordered'),
  reserved: count.describe('Held by unpaid orders'),
  sold: count.describe('Belongs to paid orders, shipped ones included'),
  onHand: count.describe('available + reserved + sold'),
};

const ProductDetails = z.strictObject({
  ...productEntry,
  changes: z
    .array(
      z.strictObject({
        at: instant,
        action: z.enum(['created', 'updated', 'stock']),
        actor: z.string().meta({ examples: ['mia'] }),
        reason: z.string().nullable(),
        name: z.string().nullable(),
        unitPrice: amount.nullable(),
        currency: currency.nullable(),
        delta: z.int().nullable().describe('Pieces that came in; negative: that are gone'),
        available: count.nullable().describe('How many could be ordered after it'),
      }),
    )
    .describe('Who changed what, and why: the newest 50, newest first'),
});

const checks = z.strictObject({
  postgres: z.enum(['up', 'down']),
  redis: z.enum(['up', 'down', 'off']),
});

/** Every schema of the document, by the name it has there. */
export const RESPONSES = {
  Order,
  OrderItem,
  OrderEvent,
  OrderDetails,
  OrderPage: z.strictObject({ items: z.array(Order), nextCursor: z.string().nullable() }),
  Payment,
  Refund,
  Product,
  WebhookEndpoint,
  WebhookEndpointList: z.strictObject({ items: z.array(WebhookEndpoint) }),
  WebhookEndpointWithSecret: z.strictObject({
    endpoint: WebhookEndpoint,
    secret: z
      .string()
      .describe('Told this once; it can be replaced and not be read again')
      .meta({ examples: ['whsec_bm90IGEgc2VjcmV0LCBhbiBleGFtcGxlIG9mIG9uZSE='] }),
  }),
  WebhookEndpointDeleted: z.strictObject({ id }),
  WebhookAttempt: z.strictObject({
    isDelivered: z.boolean(),
    answer: z.int().nullable().describe('The HTTP status; null where no answer came'),
    error: z.string().nullable(),
    tookMs: count,
  }),
  Delivery,
  DeliveryPage: z.strictObject({ items: z.array(Delivery), nextCursor: z.string().nullable() }),
  Redelivered: z.strictObject({ redelivered: count }),
  ProductDetails,
  ProductPage: z.strictObject({
    items: z.array(z.strictObject(productEntry)),
    nextCursor: z.string().nullable(),
  }),
  ProductList: z.strictObject({ items: z.array(Product), nextCursor: z.string().nullable() }),
  OrderEventStream: z
    .string()
    .describe('Server-sent events; the data of each is an OrderEvent')
    .meta({
      contentMediaType: 'application/json',
      contentSchema: { $ref: schemaAt('OrderEvent') },
    }),
  StreamToken: z
    .strictObject({
      token: z.string().describe('For `GET /v1/orders/{id}/events?token=`, of this order only'),
      expiresAt: instant,
    })
    .describe('Opens one stream, and nothing else'),
  CheckoutLink: z
    .strictObject({
      orderId: id,
      url: z.url().meta({ examples: ['https://pay.example/checkout/0199a3c0?code=x'] }),
      expiresAt: instant.describe('The link can be opened until then, once'),
    })
    .describe('Where the buyer sees the countdown and pays'),
  WebhookStored: z.strictObject({ stored: z.literal(true) }),
  Overview,
  Alive: z.strictObject({ status: z.literal('ok') }),
  Ready: z.strictObject({ status: z.enum(['ok', 'degraded']), checks }),
  Metrics: z.string(),
  FieldError,
  Problem,
} as const satisfies Record<string, z.ZodType>;

export type ResponseName = keyof typeof RESPONSES;
