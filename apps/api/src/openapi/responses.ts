import { z } from 'zod';
import { OrderDetails, Overview } from './console-responses';
import { schemaAt } from './json-schema';
import { Delivery, ProductDetails, productEntry, WebhookEndpoint } from './merchant-responses';
import { Order, OrderEvent, OrderItem, Payment, Product, Refund } from './order-responses';
import { count, id, instant } from './response-fields';

/*
 * The answers, for the OpenAPI document. test/api/openapi.e2e.ts holds real answers against these,
 * so that the document cannot drift from what is sent.
 */

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
