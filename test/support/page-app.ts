import type { OrderView } from '@app/orders';
import { startTestApp, type TestApp } from './app';

export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };
/** Another port of this host: same site, and not one of our pages. */
export const SAME_SITE = { 'sec-fetch-site': 'same-site' };

/** The API that serves the pages, and a customer of its shop. */
export interface PageApp {
  readonly api: TestApp;
  /** Ann's token. */
  readonly ann: string;
  /** An order of Ann's. */
  place(): Promise<OrderView>;
}

export async function startPageApp(settings: Record<string, string> = {}): Promise<PageApp> {
  const own = { ROLES: 'api', ENVIRONMENT: 'test', SAMPLE_SHOP: 'on' };
  const api = await startTestApp({ settings: { ...own, ...settings } });
  const ann = await api.token({ sub: 'ann' });
  let keys = 0;
  const place = async (): Promise<OrderView> => {
    const { body } = await api.request<OrderView>('POST /v1/orders', {
      token: ann,
      headers: { 'idempotency-key': `key-${(keys += 1)}` },
      body: { items: [{ sku: 'TEA-SENCHA', quantity: 1 }] },
    });
    return body;
  };
  return { api, ann, place };
}

export const cookieIn = (headers: Headers): string =>
  (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
