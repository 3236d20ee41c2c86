import { type Client, createClient, type Order, ProblemError } from '@lastcall/client';

/** A tab that nobody looks at for so long needs no connection of its own. */
const HIDDEN_LIMIT_MS = 60_000;
/** After whatever ended the following but the page itself, or as much later as `Retry-After` asks for. */
const AGAIN_MS = 5_000;
/** Limits are by the minute; nobody looks at a page that waits for longer. */
const LONGEST_WAIT_MS = 60_000;
/** The session is over, or the order is not there for it. */
const STAYS_SO = [401, 403, 404];

export interface Follower {
  onOrder(order: Order): void;
  /** Whether the last question was answered. */
  onConnection(isThere: boolean): void;
}

/** The API of the server that this page came from; the cookie says who asks. */
export function connect(onConnection: Follower['onConnection']): Client {
  return createClient({
    baseUrl: '',
    fetch: async (...request) => {
      try {
        const response = await fetch(...request);
        onConnection(true);
        return response;
      } catch (error) {
        // What the page itself has ended tells nothing of the connection; an answer that never came does.
        const isLate = error instanceof DOMException && error.name === 'TimeoutError';
        if (isLate || !request[1]?.signal?.aborted) onConnection(false);
        throw error;
      }
    },
  });
}

/** Follows an order while the page is looked at, and asks anew when it is looked at again. */
export function followOrder(client: Client, orderId: string, onOrder: Follower['onOrder']): void {
  let following: AbortController | undefined;
  let hiding: ReturnType<typeof setTimeout> | undefined;

  const follow = async (): Promise<void> => {
    const { signal } = (following = new AbortController());
    while (!signal.aborted) {
      try {
        for await (const order of client.watch(orderId, { signal })) onOrder(order);
        return;
      } catch (error) {
        const refusal = error instanceof ProblemError ? error : undefined;
        if (refusal && STAYS_SO.includes(refusal.status)) return;
        const waitMs = Math.max(AGAIN_MS, refusal?.retryAfterMs ?? 0);
        await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, LONGEST_WAIT_MS)));
      }
    }
  };
  const stop = (): void => {
    following?.abort();
    following = undefined;
  };
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(stop, HIDDEN_LIMIT_MS);
    else {
      stop();
      void follow();
    }
  });
  void follow();
}
