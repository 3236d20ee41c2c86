import { z } from 'zod';
import { MAX_EXTENSION_MS } from '../closing/extend-window';
import { DELIVERY_CURSOR, DELIVERY_STATUSES } from '../deliveries/deliveries';
import { MAX_OVERLAP_MS } from '../deliveries/endpoints';
import { ALL_EVENTS, EVENT_TYPES } from '../deliveries/message';
import { ERASABLE_RULE, isErasable, REASON_LENGTH } from '../order/operator-action';
import { ORDER_STATUSES, type OrderStatus } from '../order/order.lifecycle';
import { isPlainText, PLAIN_TEXT_RULE } from '../order/plain-text';
import { unlessMissing, wholeNumber } from '../order/read-input';
import { UUID } from '../order/uuid';
import {
  expectedTotal,
  itemsOf,
  MAX_AMOUNT,
  MAX_ITEMS,
  orderLine,
  sku,
} from '../placing/place-rules';
import { PROVIDER_NAME } from '../providers/payment-provider';
import { MAX_NAME_LENGTH, MAX_UNIT_PRICE, SKU } from '../stock/product-rules';
import { MAX_LISTED_PRODUCTS } from '../stock/products';

/** What callers may send, to the letter: unknown fields are refused, and these feed the OpenAPI. */

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;

const text = (min: number, max: number) => {
  const message = `must have ${min} to ${max} characters`;
  return (
    z
      .string(unlessMissing('must be a text'))
      .trim()
      .min(min, message)
      .max(max, message)
      // Postgres keeps no NUL, and a terminal should not act on what an operator reads.
      .refine(isPlainText, PLAIN_TEXT_RULE)
  );
};

export const placeOrderBody = z
  .strictObject({
    items: itemsOf(orderLine),
    expectedTotal,
  })
  .meta({ examples: [{ items: [{ sku: 'TEA-SENCHA', quantity: 2 }] }] });

export const noBody = z.strictObject({}).nullish();

/** Also no body at all: the shop's first provider then. */
export const startPaymentBody = z
  .strictObject({
    provider: z.string().regex(PROVIDER_NAME, 'must be the name of a payment provider').optional(),
    returnUrl: z
      .url({ protocol: /^https?$/, error: 'must be an address that begins with https://' })
      .max(2_000, 'must have at most 2000 characters')
      // Zod reads an address as browsers do, who would encode what Postgres does not keep.
      .refine(isPlainText, `${PLAIN_TEXT_RULE}: percent-encode them`)
      .describe('Where the buyer comes back to, with `result=success` or `cancel` in its query')
      .optional(),
  })
  .nullish()
  .meta({ examples: [{ provider: 'sandbox' }] });

/** Also no body at all. */
export const shipmentBody = z
  .strictObject({
    carrier: text(1, 100)
      .meta({ examples: ['DHL'] })
      .optional(),
    trackingNumber: text(1, 100)
      .meta({ examples: ['00340434161094042557'] })
      .optional(),
  })
  .nullish()
  .meta({ examples: [{ carrier: 'DHL', trackingNumber: '00340434161094042557' }] });

const limitTo = (most: number) =>
  z
    .string()
    .regex(/^\d{1,4}$/, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(wholeNumber(1, most));
const pageQuery = {
  limit: limitTo(MAX_LIMIT).default(DEFAULT_LIMIT),
  cursor: z.string().regex(UUID, 'must be the nextCursor of an earlier answer').optional(),
};

export const listOrdersQuery = z.strictObject({
  status: z.enum(ORDER_STATUSES).optional(),
  ...pageQuery,
});

const STATUSES = `(?:${ORDER_STATUSES.join('|')})`;
/** RFC 3339, as answers have it; with a time zone, so that it is one instant everywhere. */
const instant = z.iso
  .datetime({ offset: true, error: 'must be an instant as 2026-01-31T12:00:00Z' })
  .transform((text) => new Date(text))
  .meta({ examples: ['2026-01-31T12:00:00Z'] });

export const searchOrdersQuery = z.strictObject({
  status: z
    .string()
    .regex(
      new RegExp(`^${STATUSES}(?:,${STATUSES})*$`),
      `must be one or several of, with commas between: ${ORDER_STATUSES.join(', ')}`,
    )
    .transform((text) => text.split(',') as OrderStatus[])
    .describe('One status, or several with commas between')
    .meta({ examples: ['paid,shipped'] })
    .optional(),
  customer: z
    .string()
    .min(1, 'must be the id of a customer')
    .max(255, 'must be the id of a customer')
    .refine(isPlainText, PLAIN_TEXT_RULE)
    .describe("The customer's id: the `sub` of their token")
    .meta({ examples: ['ann'] })
    .optional(),
  sku: sku.describe('Orders with a line of it').optional(),
  amount: z
    .string()
    .regex(
      /^(?:\d{1,14}(?:\.\.\d{0,14})?|\.\.\d{1,14})$/,
      'must be an amount in minor units, or a range as 1000..2000, 1000.. or ..2000',
    )
    .transform(amountRange)
    .describe('In minor units: 1250, or a range as 1000..2000, 1000.. or ..2000')
    .meta({ examples: ['1000..2000'] })
    .optional(),
  id: z
    .string()
    .regex(/^[0-9a-f][0-9a-f-]{0,35}$/i, 'must be how an id begins: digits, a to f and hyphens')
    .refine((text) => text.replaceAll('-', '').length <= 32, 'must not be longer than an id')
    .describe('How the id begins')
    .meta({ examples: ['0199a3c0'] })
    .optional(),
  since: instant.describe('Placed then or later').optional(),
  until: instant.describe('Placed before').optional(),
  overdue: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .describe('true: only unpaid orders whose deadline has passed')
    .optional(),
  ...pageQuery,
});

function amountRange(text: string): { min?: number; max?: number } {
  if (!text.includes('..')) return { min: Number(text), max: Number(text) };
  const [min, max] = text.split('..');
  return { ...(min ? { min: Number(min) } : {}), ...(max ? { max: Number(max) } : {}) };
}

const seconds = wholeNumber(1, MAX_EXTENSION_MS / 1_000).meta({ examples: [60] });
const reasonText = text(REASON_LENGTH.min, REASON_LENGTH.max).refine(isErasable, ERASABLE_RULE);
const reason = reasonText.meta({ examples: ['customer called: wrong address'] });

/** Of one delivery or one loss; more are several. */
const MAX_DELTA = 1_000_000;

/** The most ids one call names. */
const MAX_IDS = 1_000;

export const webhookEndpointBody = z.strictObject({
  url: text(1, 2_000)
    .describe('Where to: https, and no private network unless WEBHOOKS_ALLOW_PRIVATE is on')
    .meta({ examples: ['https://shop.example/lastcall'] }),
  events: z
    .array(z.enum([ALL_EVENTS, ...EVENT_TYPES]), unlessMissing('must be a list'))
    .min(1, 'must have at least one type of event, or "*" for all')
    .max(EVENT_TYPES.length + 1, 'must name each type of event once at most')
    .meta({ examples: [['order.paid', 'order.closed']] }),
  reason: reason.optional(),
});
export const rotateBody = z
  .strictObject({
    overlapSeconds: wholeNumber(0, MAX_OVERLAP_MS / 1_000)
      .describe('For so long the present secret signs as well; a day unless given')
      .meta({ examples: [86_400] })
      .optional(),
    reason: reason.optional(),
  })
  .nullish();
export const reasonBody = z.strictObject({ reason: reason.optional() }).nullish();
export const redeliverBody = z
  .strictObject({
    deliveries: z
      .array(z.uuid('must be the id of a delivery'), unlessMissing('must be a list'))
      .min(1, 'must name a delivery, or be left out: then it is all that are dead')
      .max(MAX_IDS, `must have at most ${MAX_IDS} ids`)
      .optional(),
    reason: reason.optional(),
  })
  .nullish();
/** Also with each id in a line of its own, and a reason. */
export const REDELIVER_BODY_LIMIT = 64 * MAX_IDS;
export const listDeliveriesQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES).optional(),
  limit: pageQuery.limit,
  cursor: z
    .string()
    .regex(DELIVERY_CURSOR, 'must be the nextCursor of an earlier answer')
    .optional(),
});

export const productSku = sku;
export const listProductsQuery = z.strictObject({
  limit: pageQuery.limit,
  cursor: z.string().regex(SKU, 'must be the nextCursor of an earlier answer').optional(),
});
export const listPublicProductsQuery = z.strictObject({
  limit: limitTo(MAX_LISTED_PRODUCTS).default(MAX_LISTED_PRODUCTS),
  cursor: listProductsQuery.shape.cursor,
});
export const putProductBody = z.strictObject({
  name: text(1, MAX_NAME_LENGTH).meta({ examples: ['Sencha, 100 g'] }),
  unitPrice: wholeNumber(0, MAX_UNIT_PRICE)
    .describe('In minor units of the currency; orders that are placed keep theirs')
    .meta({ examples: [1250] }),
  currency: z
    .string(unlessMissing('must be a text'))
    .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code such as EUR')
    .meta({ examples: ['EUR'] }),
  reason: reason.optional(),
});
export const stockBody = z.strictObject({
  delta: wholeNumber(-MAX_DELTA, MAX_DELTA)
    .refine((delta) => delta !== 0, 'must not be 0')
    .describe('Pieces that came in; negative: that are gone')
    .meta({ examples: [100] }),
  reason: reasonText.meta({ examples: ['delivery 4711'] }),
});

export const forceCloseBody = z.strictObject({ reason });
export const cancelOrderBody = z.strictObject({ reason });
export const refundBody = z.strictObject({
  amount: wholeNumber(1, MAX_AMOUNT)
    .describe("In minor units of the order's currency")
    .meta({ examples: [500] }),
  reason,
  restock: z
    .array(orderLine)
    .max(MAX_ITEMS, `must have at most ${MAX_ITEMS} items`)
    .optional()
    .describe('What came back and can be sold again; never more than was bought'),
});
export const settleOrderBody = z.strictObject({
  as: z.enum(['closed', 'paid']).describe('What became of its payment at the provider'),
  paymentId: z
    .uuid('must be the id of a payment')
    .optional()
    .describe('Of `paid`: which payment it was; needed where several are open'),
  reason,
});
export const settleRefundBody = z.strictObject({
  as: z
    .enum(['done'])
    .describe('Its money has gone back by another way than its provider, as by bank transfer'),
  amount: wholeNumber(1, MAX_AMOUNT)
    .optional()
    .describe(
      'What was sent, in minor units; needed where a dispute or the dashboard has taken a part of the money, and no other than what is owed',
    ),
  reason,
});
export const customerExtensionBody = z.strictObject({ seconds });
export const operatorExtensionBody = z.strictObject({ seconds, reason });

/** The id of an order event, as an earlier event of the stream had it. */
export const lastEventId = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the id of an event of this stream');
