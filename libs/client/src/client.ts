import type {
  CheckoutLink,
  Order,
  OrderPage,
  Payment,
  PayOrdersBody,
  PlaceOrdersBody,
  ProductList,
  StreamToken,
} from './api';
import { type Countdown, countdownTo } from './countdown';
import { type CallOptions, Http, type HttpOptions } from './http';
import { type MonotonicNow, ServerClock } from './server-clock';
import { watchOrder } from './watch';

export interface ClientOptions extends HttpOptions {
  /** Milliseconds of a clock that never jumps; default: `performance.now`. */
  readonly now?: MonotonicNow | undefined;
}

export interface KeyedOptions extends CallOptions {
  /**
   * The same key, the same order, payment or extension. By default a new one for each call, kept while the call
   * is repeated; keep one of your own with the cart to be safe from reloads of the page.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface OrderQuery {
  readonly status?: Order['status'] | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface ProductQuery {
  /** At most so many, 1,000 unless given. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/**
 * The storefront's API. Every call rejects with `ProblemError` when it is refused, with a `TypeError` when the API
 * is not reached, and with a `DOMException` named `TimeoutError` when no answer comes in time.
 */
export interface Client {
  products(options?: CallOptions & ProductQuery): Promise<ProductList>;
  placeOrder(order: PlaceOrdersBody, options?: KeyedOptions): Promise<Order>;
  order(id: string, options?: CallOptions): Promise<Order>;
  orders(query?: OrderQuery, options?: CallOptions): Promise<OrderPage>;
  /** The buyer then pays at the payment's `checkoutUrl`. */
  pay(orderId: string, payment?: PayOrdersBody, options?: KeyedOptions): Promise<Payment>;
  cancel(orderId: string, options?: CallOptions): Promise<Order>;
  /** Places the same order again, once it is closed: one copy within 24 hours, at the prices of now. */
  again(orderId: string, options?: CallOptions): Promise<CheckoutLink>;
  /** More time to pay, where the shop allows it. */
  extend(orderId: string, seconds: number, options?: KeyedOptions): Promise<Order>;
  confirmReceipt(orderId: string, options?: CallOptions): Promise<Order>;
  /** For `EventSource`; `watch` needs none. */
  streamToken(orderId: string, options?: CallOptions): Promise<StreamToken>;
  /** The time left to pay, corrected by every answer that this client gets. */
  countdown(order: Order): Countdown;
  /** The order, and the order again whenever it changes, until it is over or `signal` aborts. */
  watch(order: Order | string, options?: CallOptions): AsyncGenerator<Order>;
}

export function createClient(options: ClientOptions): Client {
  const clock = new ServerClock(options.now ?? (() => performance.now()));
  const http = new Http(options, clock);
  const get = <Answer>(path: string, call: CallOptions = {}): Promise<Answer> =>
    http.send({ ...call, method: 'GET', path });
  const post = <Answer>(path: string, body?: unknown, call: CallOptions = {}): Promise<Answer> =>
    http.send({ ...call, method: 'POST', path, body });
  const postOnce = <Answer>(
    path: string,
    body: unknown,
    { idempotencyKey = newKey(), signal }: KeyedOptions = {},
  ): Promise<Answer> =>
    http.send({
      ...{ method: 'POST', path, body, signal },
      headers: { 'idempotency-key': idempotencyKey },
    });
  return {
    products: ({ limit, cursor, ...call } = {}) =>
      get(`/v1/products${searchOf({ limit, cursor })}`, call),
    placeOrder: (order, call) => postOnce('/v1/orders', order, call),
    order: (id, call) => get(`/v1/orders/${id}`, call),
    orders: (query = {}, call) => get(`/v1/orders${searchOf(query)}`, call),
    pay: (id, payment = {}, call) => postOnce(`/v1/orders/${id}/payments`, payment, call),
    cancel: (id, call) => post(`/v1/orders/${id}/cancel`, undefined, call),
    again: (id, call) => post(`/v1/orders/${id}/again`, undefined, call),
    extend: (id, seconds, call) => postOnce(`/v1/orders/${id}/extension`, { seconds }, call),
    confirmReceipt: (id, call) => post(`/v1/orders/${id}/receipt`, undefined, call),
    streamToken: (id, call) => post(`/v1/orders/${id}/stream-token`, undefined, call),
    countdown(order) {
      // One that came with the page: nothing is known of the time yet but what it says.
      if (!clock.isSet) clock.heard(order.serverNow, clock.now(), clock.now());
      return countdownTo(order, clock);
    },
    watch: (order, call = {}) => watchOrder(http, order, call.signal),
  };
}

/** 128 random bits; `randomUUID` is missing on pages that came by plain HTTP. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function searchOf(query: OrderQuery | ProductQuery): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length > 0 ? `?${search.toString()}` : '';
}
