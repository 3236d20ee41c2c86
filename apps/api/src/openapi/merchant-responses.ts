import { DELIVERY_STATUSES } from '@app/orders';
import { z } from 'zod';
import { amount, count, currency, id, instant, sku } from './response-fields';

/* What merchants see of their webhook endpoints and products. */

export const WebhookEndpoint = z.strictObject({
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

export const Delivery = z.strictObject({
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

export const productEntry = {
  sku,
  name: z.string().meta({ examples: ['Sencha, 100 g'] }),
  unitPrice: amount,
  currency,
  available: count.describe('Can be ordered'),
  reserved: count.describe('Held by unpaid orders'),
  sold: count.describe('Belongs to paid orders, shipped ones included'),
  onHand: count.describe('available + reserved + sold'),
};

export const ProductDetails = z.strictObject({
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
