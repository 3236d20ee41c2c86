import type { Http } from './http';

/** Whoever stands between may hold the answer back; then there is no stream to be had. */
const OPEN_LIMIT_MS = 3_000;
/** The API says something every 15 s. */
const SILENCE_LIMIT_MS = 40_000;

/**
 * The ids of an order's events after `lastEventId`, as they come in; '' once the stream is open.
 * Ends when the server ends the stream, and throws when there is none, it breaks or falls silent.
 */
export async function* eventIds(
  http: Http,
  orderId: string,
  lastEventId: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const stream = new AbortController();
  const abort = (): void => stream.abort();
  signal.addEventListener('abort', abort);
  let timer = setTimeout(abort, OPEN_LIMIT_MS);
  try {
    const response = await http.open({
      method: 'GET',
      path: `/v1/orders/${orderId}/events`,
      headers: { accept: 'text/event-stream', 'last-event-id': lastEventId },
      signal: stream.signal,
    });
    const reader = response.body?.getReader();
    // 204: all events have been seen, and no more will come.
    if (!reader || response.status === 204) return;
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(abort, SILENCE_LIMIT_MS);
      text += decoder.decode(value, { stream: true });
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) yield /^id: (\d+)$/m.exec(frame)?.[1] ?? '';
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    abort();
  }
}
