import { webUrl } from '../settings/web-addresses';

/** Where the buyer goes from the provider's page. */
export interface ReturnAddresses {
  readonly successUrl: string;
  readonly cancelUrl: string;
}

/**
 * The shop's page with `order`, `payment` and `result` in its query: `success` when the buyer has
 * paid, `cancel` when they went back. It tells the page what to say first; whether the money came,
 * the order says.
 */
export function returnAddresses(
  returnUrl: string,
  ids: { readonly orderId?: string | undefined; readonly paymentId: string },
): ReturnAddresses {
  const withResult = (result: 'success' | 'cancel'): string => {
    const url = new URL(returnUrl);
    if (ids.orderId !== undefined) url.searchParams.set('order', ids.orderId);
    url.searchParams.set('payment', ids.paymentId);
    url.searchParams.set('result', result);
    return url.href;
  };
  return { successUrl: withResult('success'), cancelUrl: withResult('cancel') };
}

/** Whether an address lies under one of these; what browsers read into it, this reads into it. */
export function isUnder(prefixes: readonly string[], address: string): boolean {
  const url = webUrl(address);
  if (!url) return false;
  return prefixes.some((prefix) => {
    const { origin, pathname } = new URL(prefix);
    const folder = pathname.endsWith('/') ? pathname : `${pathname}/`;
    return url.origin === origin && `${url.pathname}/`.startsWith(folder);
  });
}
