import autocannon from 'autocannon';
import { SignJWT } from 'jose';
import { cpuBetween, type CpuSeconds } from './cpu';
import { skuAt, SKUS } from './orders-table';
import type { Api } from './processes';
import { JWT_SECRET, type World } from './world';

/** For so long, or so many requests: what is warm after seconds here is cold on a slower machine. */
export type Load = { readonly connections: number } & (
  { readonly seconds: number } | { readonly requests: number }
);

export interface LoadResult {
  readonly answered: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers that are not 2xx, broken connections and timeouts. */
  readonly failed: number;
  readonly cpu: CpuSeconds;
}

interface Request {
  readonly method: 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends what `next` makes over so many connections, each with one request under way; rejects where none is answered. */
export async function loadApi(
  world: World,
  api: Api,
  load: Load,
  next: () => Request,
): Promise<LoadResult> {
  const before = world.cpu([api.pid]);
  const result = await autocannon({
    url: api.url,
    connections: load.connections,
    ...('seconds' in load ? { duration: load.seconds } : { amount: load.requests }),
    timeout: 30,
    requests: [{ method: 'POST', path: '/', setupRequest: next }],
  });
  if (result['2xx'] === 0) {
    throw new Error(`Nothing was answered: ${result.non2xx} refused, ${result.errors} failed`);
  }
  return {
    answered: result['2xx'],
    perSecond: result['2xx'] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    failed: result.non2xx + result.errors,
    cpu: cpuBetween(before, world.cpu([api.pid])),
  };
}

/** So many customers order in turns: hardly a token has been seen a moment ago. */
const CUSTOMERS = 10_000;

/** What the `nth` order is of: two lines over all SKUs, or always of the hot one and another; or up to twelve of 200. */
const LINES = {
  cold: (nth) => [nth * 7, nth * 7 + 13],
  hot: () => [0, 1],
  baskets: (nth) => {
    const from = Math.imul(nth, 2_654_435_761) >>> 8;
    return Array.from(
      { length: 1 + (from % 12) },
      (_, line) => (from + line * (1 + (nth % 90))) % 200,
    );
  },
} as const satisfies Readonly<Record<string, (nth: number) => readonly number[]>>;

/** A new order with every call. */
export async function orderRequests(kind: keyof typeof LINES): Promise<() => Request> {
  const tokens = await Promise.all(
    Array.from({ length: CUSTOMERS }, (_, customer) => tokenOf(`bench-${customer}`)),
  );
  const run = Date.now().toString(36);
  let made = 0;
  return () => {
    made += 1;
    const items = LINES[kind](made).map((sku, line) => ({
      sku: skuAt(sku % SKUS),
      quantity: line + 1,
    }));
    return {
      method: 'POST',
      path: '/v1/orders',
      headers: {
        authorization: `Bearer ${tokens[made % CUSTOMERS]}`,
        'content-type': 'application/json',
        'idempotency-key': `${run}-${made}`,
      },
      body: JSON.stringify({ items }),
    };
  };
}

const SECRET = new TextEncoder().encode(JWT_SECRET);

function tokenOf(customer: string): Promise<string> {
  return new SignJWT({ scope: 'orders' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(customer)
    .setExpirationTime('1h')
    .sign(SECRET);
}
