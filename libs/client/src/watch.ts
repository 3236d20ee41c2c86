import type { Order } from './api';
import { eventIds } from './event-ids';
import { type Http, pause, ProblemError } from './http';

const FINAL = ['completed', 'closed', 'canceled'];
/** Between two looks while there is no stream. */
const FIRST_POLL_MS = 1_000;
const POLL_MS = 5_000;
/** So long one look may take: on a connection that is dead no answer comes, and nobody says so. */
const LOOK_LIMIT_MS = 10_000;

/**
 * Yields the order as it is, and again whenever it has changed, until it is in a final status or
 * `signal` aborts. Changes come by the order's stream, resumed where it was cut off; where there is
 * none to be had, by looking every few seconds. A network that is away, or silent, is waited for.
 * @throws {ProblemError} when the order may not be read (any more): 401, 403, 404
 */
export async function* watchOrder(
  http: Http,
  orderOrId: Order | string,
  signal = new AbortController().signal,
): AsyncGenerator<Order> {
  const id = typeof orderOrId === 'string' ? orderOrId : orderOrId.id;
  const read = (): Promise<Order> => look(http, id, signal);
  let order = typeof orderOrId === 'string' ? await read() : orderOrId;
  yield order;
  let lastEventId = String(order.version);
  for (let failures = 0; !signal.aborted && !FINAL.includes(order.status); failures++) {
    const attempt = attemptWithin(signal);
    try {
      for await (const eventId of eventIds(http, id, lastEventId, attempt.signal)) {
        failures = 0;
        if (eventId === '') continue;
        lastEventId = eventId;
        if (Number(eventId) <= order.version) continue;
        yield (order = await read());
      }
    } catch (error) {
      if (isForbidden(error)) throw error;
    }
    try {
      // The stream has ended, broke or never was: look at the order, and then try it again.
      if (signal.aborted || FINAL.includes(order.status)) return;
      await pause(Math.min(POLL_MS, FIRST_POLL_MS * 2 ** failures), attempt.signal);
      const now = await read();
      const isNews = contentOf(now) !== contentOf(order);
      order = now;
      if (isNews) yield order;
    } catch (error) {
      if (isForbidden(error)) throw error;
    } finally {
      attempt.end();
    }
  }
}

/** Asks anew, and at once, when the page is looked at again meanwhile. */
async function look(http: Http, id: string, signal: AbortSignal): Promise<Order> {
  for (;;) {
    const attempt = attemptWithin(signal);
    try {
      return await http.send({
        ...{ method: 'GET', path: `/v1/orders/${id}` },
        ...{ signal: attempt.signal, limitMs: LOOK_LIMIT_MS },
      });
    } catch (error) {
      if (signal.aborted || !attempt.signal.aborted) throw error;
    } finally {
      attempt.end();
    }
  }
}

/** Ends with `signal`, and when a page is looked at again: a machine that slept has lost its stream. */
function attemptWithin(signal: AbortSignal): { readonly signal: AbortSignal; end(): void } {
  const attempt = new AbortController();
  const abort = (): void => attempt.abort();
  const page = (globalThis as { document?: PageDocument }).document;
  const lookedAt = (): void => {
    if (page?.visibilityState === 'visible') abort();
  };
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  page?.addEventListener('visibilitychange', lookedAt);
  return {
    signal: attempt.signal,
    end: () => {
      signal.removeEventListener('abort', abort);
      page?.removeEventListener('visibilitychange', lookedAt);
    },
  };
}

/** The part of a browser's document that is used; in Node there is none. */
interface PageDocument {
  readonly visibilityState: string;
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

const isForbidden = (error: unknown): boolean =>
  error instanceof ProblemError && [401, 403, 404].includes(error.status);

const contentOf = ({ serverNow: _, ...order }: Order): string => JSON.stringify(order);
