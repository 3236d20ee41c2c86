import { z } from 'zod';
import { unlessMissing, wholeNumber } from '../order/read-input';
import { isSubject, SUBJECT_RULE } from '../order/subject';
import { MAX_UNIT_PRICE, SKU, SKU_RULE } from '../stock/product-rules';
import { sumBySku } from '../stock/products';

/** What an order may be, whoever passes it on: one set of rules for the API and for hosts. */

export const MAX_ITEMS = 50;
const MAX_QUANTITY = 999;
/** Of the most lines and pieces, each of the highest price. */
export const MAX_AMOUNT = MAX_ITEMS * MAX_QUANTITY * MAX_UNIT_PRICE;

export const sku = z
  .string(unlessMissing('must be a text'))
  .regex(SKU, SKU_RULE)
  .meta({ examples: ['TEA-SENCHA'] });

const line = { sku, quantity: wholeNumber(1, MAX_QUANTITY).meta({ examples: [2] }) };

/** A line to the letter: of the API, which refuses what it does not know. */
export const orderLine = z.strictObject(line);

export const itemsOf = <Line extends z.ZodType<{ sku: string; quantity: number }>>(of: Line) =>
  z
    .array(of, unlessMissing('must be a list'))
    .min(1, `must have 1 to ${MAX_ITEMS} items`)
    .max(MAX_ITEMS, `must have 1 to ${MAX_ITEMS} items`)
    // Lines of one product are one: many small ones are no way around the limit of each.
    .refine((lines) => mostOfOneSku(lines) <= MAX_QUANTITY || lines.some(isTooMany), {
      message: `must have at most ${MAX_QUANTITY} of one sku, all its lines together`,
    });

const mostOfOneSku = (lines: readonly { sku: string; quantity: number }[]): number =>
  Math.max(...sumBySku(lines).values());

/** Complained about already, by its own name. */
const isTooMany = ({ quantity }: { quantity: number }): boolean => quantity > MAX_QUANTITY;

export const expectedTotal = wholeNumber(0, MAX_AMOUNT)
  .describe('What the customer was shown, in minor units; another price is refused')
  .optional();

/** Visible ASCII: it goes through proxies and into logs unchanged. */
export const idempotencyKey = z
  .string(unlessMissing('must be a text'))
  .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 visible ASCII characters')
  .meta({ examples: ['7f1c2a4e-order-1'] });

/** What `PlaceOrder` is given, by the names that the API has for it; a host's lines may have more to them. */
export const placeCommand = z.object({
  customerId: z.string(unlessMissing('must be a text')).refine(isSubject, SUBJECT_RULE),
  'Idempotency-Key': idempotencyKey,
  items: itemsOf(z.object(line)),
  expectedTotal,
});
