import type { z } from 'zod';
import { LastcallError } from '../order/errors';
import { type FieldError, readInput } from '../order/read-input';
import {
  forceCloseBody,
  listOrdersQuery,
  operatorExtensionBody,
  placeOrderBody,
  refundBody,
  searchOrdersQuery,
  startPaymentBody,
} from './requests';
import { noBody } from './request-fields';

function errorsOf(schema: z.ZodType, input: unknown): FieldError[] {
  try {
    readInput(schema, input);
  } catch (error) {
    if (error instanceof LastcallError && error.code === 'invalid_request') {
      return [...(error.fields.errors as FieldError[])];
    }
    throw error;
  }
  return [];
}

const line = { sku: 'TEA-001', quantity: 1 };
const ID = '0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e';

describe('what may be sent', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['an order', placeOrderBody, { items: [line, { sku: 'a.b_c-1', quantity: 999 }] }],
    ['an order of 50 lines', placeOrderBody, { items: Array.from({ length: 50 }, () => line) }],
    [
      'an address to come back to',
      startPaymentBody,
      { returnUrl: 'https://shop.example/danke/für?a%00b' },
    ],
    ['nothing at all', noBody, undefined],
    ['an empty object', noBody, {}],
    ['a list without filters', listOrdersQuery, {}],
    ['a list', listOrdersQuery, { status: 'closed', limit: '100', cursor: ID }],
    ['a reason', forceCloseBody, { reason: 'ok!' }],
    ['an extension', operatorExtensionBody, { seconds: 86_400, reason: 'asked by phone' }],
  ])('takes %s', (_, schema, input) => expect(errorsOf(schema, input)).toEqual([]));

  it('lists 20 orders unless told', () => expect(readInput(listOrdersQuery, {}).limit).toBe(20));

  it.each<[z.ZodType, unknown, string, RegExp]>([
    [placeOrderBody, undefined, 'body', /missing/],
    [placeOrderBody, [], 'body', /must be an object/],
    [placeOrderBody, 'x', 'body', /must be an object/],
    [placeOrderBody, {}, 'items', /missing/],
    [placeOrderBody, { items: [] }, 'items', /1 to 50/],
    [placeOrderBody, { items: {} }, 'items', /list/],
    [placeOrderBody, { items: Array.from({ length: 51 }, () => line) }, 'items', /1 to 50/],
    [placeOrderBody, { items: [line], amount: 1 }, 'amount', /not a field/],
    [placeOrderBody, { items: [{ ...line, unitPrice: 1 }] }, 'items[0].unitPrice', /not a field/],
    [placeOrderBody, { items: [line, { quantity: 1 }] }, 'items[1].sku', /missing/],
    [placeOrderBody, { items: [{ sku: 7, quantity: 1 }] }, 'items[0].sku', /text/],
    [placeOrderBody, { items: [{ sku: '', quantity: 1 }] }, 'items[0].sku', /1 to 64/],
    [placeOrderBody, { items: [{ sku: "x'; --", quantity: 1 }] }, 'items[0].sku', /1 to 64/],
    [placeOrderBody, { items: [{ sku: 'a'.repeat(65), quantity: 1 }] }, 'items[0].sku', /64/],
    [placeOrderBody, { items: [{ sku: 'A' }] }, 'items[0].quantity', /missing/],
    ...[0, -1, 1.5, 1000, '1', null, 1e300].map(
      (quantity) =>
        [
          placeOrderBody,
          { items: [{ sku: 'A', quantity }] },
          'items[0].quantity',
          /whole number from 1 to 999/,
        ] as [z.ZodType, unknown, string, RegExp],
    ),
    [placeOrderBody, { items: [line, { ...line, quantity: 999 }] }, 'items', /all its lines/],
    ...['a\u0000b', '\ud800x'].map(
      (text) =>
        [
          startPaymentBody,
          { returnUrl: `https://shop.example/t?${text}` },
          'returnUrl',
          /percent-encode/,
        ] as [z.ZodType, unknown, string, RegExp],
    ),
    [noBody, { note: 'x' }, 'note', /not a field/],
    [noBody, [1], 'body', /must be an object/],
    [listOrdersQuery, { status: 'lost' }, 'status', /one of: pending_payment/],
    [listOrdersQuery, { status: ['paid', 'closed'] }, 'status', /one of/],
    [listOrdersQuery, { limit: '0' }, 'limit', /1 to 100/],
    [listOrdersQuery, { limit: '101' }, 'limit', /1 to 100/],
    [listOrdersQuery, { limit: '1e1' }, 'limit', /1 to 100/],
    [listOrdersQuery, { limit: '' }, 'limit', /1 to 100/],
    [listOrdersQuery, { cursor: 'x' }, 'cursor', /nextCursor/],
    [listOrdersQuery, { customerId: 'bob' }, 'customerId', /not a field/],
    [forceCloseBody, {}, 'reason', /missing/],
    [forceCloseBody, { reason: '  a  ' }, 'reason', /3 to 500/],
    [forceCloseBody, { reason: 'a'.repeat(501) }, 'reason', /3 to 500/],
    [forceCloseBody, { reason: 'nul \0 inside' }, 'reason', /control/],
    [forceCloseBody, { reason: 5 }, 'reason', /text/],
    [forceCloseBody, { reason: ' erased: by mistake' }, 'reason', /begin with "erased:"/],
    [operatorExtensionBody, { seconds: 0, reason: 'why' }, 'seconds', /1 to 86400/],
    [operatorExtensionBody, { seconds: 60 }, 'reason', /missing/],
  ])('refuses %#, naming the field', (schema, input, field, message) => {
    expect(errorsOf(schema, input)).toEqual([
      { field, message: expect.stringMatching(message) as string },
    ]);
  });

  it('may be the amount of the dearest order that there can be', () => {
    const dearest = 50 * 999 * 1_000_000_000;
    const ordered = { items: [line], expectedTotal: dearest };
    expect(errorsOf(placeOrderBody, ordered)).toEqual([]);
    expect(errorsOf(refundBody, { amount: dearest, reason: 'all of it' })).toEqual([]);
    expect(errorsOf(searchOrdersQuery, { amount: `0..${dearest}` })).toEqual([]);
  });

  it('names every field that is wrong at once, but not without end', () => {
    const items = Array.from({ length: 50 }, () => ({ sku: '', quantity: 0 }));
    expect(errorsOf(placeOrderBody, { items })).toHaveLength(20);
  });
});
