import type { OrderView } from '@app/orders';
import { checkoutContent } from './checkout-content';

/** An order that waits, as the page has it at eight in the evening. */
function until(payBy: string, language = 'en'): string {
  const order = {
    ...{ id: '0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f', status: 'pending_payment' },
    ...{ amount: 500, currency: 'EUR', items: [], payments: [] },
    ...{ payBy, serverNow: '2030-05-01T20:00:00.000Z' },
  } as unknown as OrderView;
  const html = checkoutContent(order, {}, language, false);
  return /<time [^>]*>([^<]*)/.exec(html)?.[1] ?? '';
}

it('tells by when to pay, and on which day where that is another', () => {
  expect(until('2030-05-01T20:10:00.000Z')).toMatch(/^8:10:00\sPM UTC$/);
  expect(until('2030-05-04T20:10:00.000Z')).toMatch(/^May 4, 2030, 8:10:00\sPM UTC$/);
  expect(until('2030-05-04T20:10:00.000Z', 'de')).toBe('04.05.2030, 20:10:00 UTC');
});
