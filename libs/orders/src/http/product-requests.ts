import { z } from 'zod';
import { unlessMissing, wholeNumber } from '../order/read-input';
import { sku } from '../placing/place-rules';
import { MAX_NAME_LENGTH, MAX_UNIT_PRICE, SKU } from '../stock/product-rules';
import { MAX_LISTED_PRODUCTS } from '../stock/products';
import { limitTo, pageQuery, reason, reasonText, text } from './request-fields';

// What is sent about products, to the letter; it feeds the OpenAPI.

/** Of one delivery or one loss; more are several. */
const MAX_DELTA = 1_000_000;

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
