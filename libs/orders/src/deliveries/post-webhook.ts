import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { tlsTrouble, type TlsTrouble } from '../order/tls-trouble';
import { anyLookup, isPublicAddress, PrivateAddressError, publicLookup } from './endpoint-address';
import { signedHeaders } from './sign-webhook';

/** A message to sign and send. */
export interface Message {
  /** `webhook-id`: the same at each attempt. */
  readonly id: string;
  readonly url: string;
  readonly secrets: readonly string[];
  /** JSON. */
  readonly body: string;
}

/** How an attempt ended; `answer` is the HTTP status, null where none came. */
export interface Attempt {
  readonly isDelivered: boolean;
  readonly answer: number | null;
  readonly error: string | null;
  readonly tookMs: number;
}

/** An endpoint takes a message in and works later: from the first byte to the last. */
export const ATTEMPT_LIMIT_MS = 10_000;
/** Answers are not read for what they say; one that goes on for longer is hung up on. */
const MAX_ANSWER_BYTES = 64 * 1_024;

/**
 * Sends a message once. Follows no redirect: where it leads nobody has allowed. Never rejects: what
 * went wrong is in the answer, without a word of what the other side sent.
 */
export async function postWebhook(
  message: Message,
  { allowPrivate, limitMs = ATTEMPT_LIMIT_MS }: { allowPrivate: boolean; limitMs?: number },
): Promise<Attempt> {
  const startedAt = performance.now();
  const ended = (rest: Omit<Attempt, 'tookMs'>): Attempt => ({
    ...rest,
    tookMs: Math.round(performance.now() - startedAt),
  });
  try {
    const answer = await post(message, allowPrivate, limitMs);
    const isDelivered = answer >= 200 && answer < 300;
    const error = isDelivered
      ? null
      : answer < 400
        ? `answered ${answer}, a redirect or worse`
        : `answered ${answer}`;
    return ended({ isDelivered, answer, error });
  } catch (error) {
    return ended({ isDelivered: false, answer: null, error: inWords(error, limitMs) });
  }
}

function post(
  { id, url, secrets, body }: Message,
  allowPrivate: boolean,
  limitMs: number,
): Promise<number> {
  const target = new URL(url);
  const host = target.hostname.replace(/^\[|\]$/g, '');
  // An address is not looked up, so it is judged here; also of an endpoint from before a setting changed.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) {
    return Promise.reject(new PrivateAddressError(host));
  }
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sending = request(target, {
      method: 'POST',
      // A connection of its own for each: none is shared with an address that was judged before.
      agent: false,
      lookup: allowPrivate ? anyLookup : publicLookup,
      signal: AbortSignal.timeout(limitMs),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'lastcall-webhooks/1',
        ...signedHeaders({ id, body, at: new Date() }, secrets),
      },
    });
    sending.once('error', reject);
    // Node answers nothing by itself to who wants another protocol, and would keep the connection.
    sending.once('upgrade', (answer, socket) => {
      socket.destroy();
      resolve(answer.statusCode ?? 0);
    });
    sending.once('response', (answer) => {
      const broken = (error: NodeJS.ErrnoException): void =>
        reject(error.code === 'ECONNRESET' ? new BrokenAnswerError() : error);
      readAway(answer).then(() => resolve(answer.statusCode ?? 0), broken);
    });
    sending.end(body);
  });
}

/** It had begun. */
class BrokenAnswerError extends Error {}

/** Reads an answer to its end, or as far as anybody needs to say "taken". */
async function readAway(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
  }
}

const TLS_WORDS: Readonly<Record<TlsTrouble, string>> = {
  expired: 'its certificate has expired',
  not_yet: 'its certificate is not valid yet',
  other_host: 'its certificate is of another host',
  not_trusted: 'its certificate is of nobody whom this machine trusts',
  own_certificate: 'it wants a certificate of ours, and we have none',
  no_connection: 'no TLS connection came about (1.2 or newer is spoken)',
};

function inWords(error: unknown, limitMs: number): string {
  if (error instanceof PrivateAddressError) return error.message;
  const { code, name } = error as NodeJS.ErrnoException;
  if (name === 'AbortError' || name === 'TimeoutError')
    return `no answer within ${limitMs / 1_000} s`;
  if (error instanceof BrokenAnswerError) return 'hung up in the midst of its answer';
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'hung up without an answer';
  if (code === 'HPE_HEADER_OVERFLOW') return 'answered with headers that are too large';
  if (code?.startsWith('HPE_')) return 'answered something that is not HTTP';
  const trouble = tlsTrouble(error);
  if (trouble) return `${TLS_WORDS[trouble]}: ${code}`;
  return code ? `could not be reached: ${code}` : 'could not be reached';
}
