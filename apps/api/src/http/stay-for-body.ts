import type { IncomingMessage } from 'node:http';
import { finished, Readable } from 'node:stream';

/**
 * A refusal that is said while its request is still being sent goes at once, and ends when the request
 * does (RFC 9112, 9.6): a connection that is closed over bytes which nobody has read is reset, and then
 * the refusal is lost, or a proxy's 502. For how long, says the server's limit of a request.
 */
export function stayForBody(request: IncomingMessage, refusal: string): string | Readable {
  return request.complete ? refusal : Readable.from(endingWith(request, refusal));
}

async function* endingWith(request: IncomingMessage, refusal: string): AsyncGenerator<string> {
  yield refusal;
  request.resume();
  // Also where the client leaves instead, who has then heard all there is.
  await new Promise<void>((resolve) => finished(request, () => resolve()));
}
