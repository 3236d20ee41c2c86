import { z } from 'zod';
import { MAX_EXTENSION_MS } from '../closing/extend-window';
import { ORDER_STATUSES, type OrderStatus } from '../order/order.lifecycle';
import { isPlainText, PLAIN_TEXT_RULE } from '../order/plain-text';
import { wholeNumber } from '../order/read-input';
import {
  expectedTotal,
  itemsOf,
  MAX_AMOUNT,
  MAX_ITEMS,
  orderLine,
  sku,
} from '../placing/place-rules';
import { PROVIDER_NAME } from '../providers/payment-provider';
import { pageQuery, reason, text } from './request-fields';

// What callers may send about orders, to the letter: unknown fields are refused, and these feed the OpenAPI.

export const placeOrderBody = z
  .strictObject({
    items: itemsOf(orderLine),
    expectedTotal,
  })
  .meta({ examples: [{ items: [{ sku: 'TEA-SENCHA', quantity: 2 }] }] });

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
