import type { Problem } from './api';
import type { ServerClock } from './server-clock';

/** Tries of one call, the first included. */
const TRIES = 5;
const LONGEST_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 300;
/** The API waits for a payment provider for ten seconds, and says so then. */
const LIMIT_MS = 15_000;
/** More is too much for a timer, which would end at once. */
const LONGEST_LIMIT_MS = 2 ** 31 - 1;

/** The API refused, with a stable `code`; its other facts are in `problem`. */
export class ProblemError extends Error {
  constructor(
    readonly problem: Problem,
    /** What `Retry-After` says. */
    readonly retryAfterMs: number | undefined,
  ) {
    super(problem.detail);
    this.name = 'ProblemError';
  }

  get code(): string {
    return this.problem.code;
  }

  get status(): number {
    return this.problem.status;
  }
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface Call extends CallOptions {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Less than other calls may take. */
  readonly limitMs?: number;
}

export interface HttpOptions {
  /** Where the API is, without `/v1`. */
  readonly baseUrl: string;
  /** The customer's token, or what gets one; asked before every request. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * How many milliseconds one try of a call may take, its answer included; default: 15,000. On a connection that is
   * dead no answer comes, and nobody says so. The call is made anew where that is safe, and rejects with a
   * `TimeoutError` elsewhere, or after some tries.
   */
  readonly limitMs?: number | undefined;
}

export class Http {
  readonly #fetch: typeof globalThis.fetch;

  constructor(
    private readonly options: HttpOptions,
    readonly clock: ServerClock,
  ) {
    // Not as our method: browsers' fetch works as the window's only.
    this.#fetch = options.fetch ?? ((...given) => globalThis.fetch(...given));
  }

  /**
   * Sends, and again as long as the API says that it is `busy`, and has done nothing. What may safely be asked twice
   * also where it says "later" for another reason (503), or is not reached, or silent.
   * @throws {ProblemError} for any other refusal
   */
  async send<Answer>(call: Call): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#sendOnce<Answer>(call);
      } catch (error) {
        const waitMs = waitBefore(tries, call, error);
        if (waitMs === undefined) throw error;
        await pause(waitMs, call.signal);
      }
    }
  }

  /** One try; the answer as it comes, when it is no refusal. */
  async open({ method, path, body, headers, signal }: Call): Promise<Response> {
    const { baseUrl, token } = this.options;
    const bearer = typeof token === 'function' ? await unlessAborted(token(), signal) : token;
    const response = await this.#fetch(baseUrl.replace(/\/$/, '') + path, {
      method,
      headers: {
        ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    if (response.ok) return response;
    throw await refusalOf(response);
  }

  async #sendOnce<Answer>(call: Call): Promise<Answer> {
    const sentAt = this.clock.now();
    const within = timeLimit(call.signal, call.limitMs ?? this.options.limitMs ?? LIMIT_MS);
    try {
      const response = await this.open({ ...call, signal: within.signal });
      const answer = (await response.json()) as Answer & {
        readonly serverNow?: string;
        readonly items?: readonly { readonly serverNow?: string }[];
      };
      const serverNow = answer.serverNow ?? answer.items?.[0]?.serverNow;
      if (serverNow) this.clock.heard(serverNow, sentAt, this.clock.now());
      return answer;
    } finally {
      within.end();
    }
  }
}

/** What gets a token may hang as well, and hears of no signal. */
async function unlessAborted<T>(
  getting: T | Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return getting;
  signal.throwIfAborted();
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([getting, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** By hand: browsers that run the rest of this may lack `AbortSignal.any`. */
function timeLimit(
  signal: AbortSignal | undefined,
  limitMs: number,
): { readonly signal: AbortSignal; end(): void } {
  const limited = new AbortController();
  const abort = (): void => limited.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort);
  const timer = setTimeout(
    () => limited.abort(new DOMException('No answer came in time', 'TimeoutError')),
    Math.min(limitMs, LONGEST_LIMIT_MS),
  );
  return {
    signal: limited.signal,
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}

/** Undefined: trying again would change nothing, or might do it twice. */
function waitBefore(tries: number, call: Call, error: unknown): number | undefined {
  if (tries >= TRIES || call.signal?.aborted) return undefined;
  const isSafe = call.method === 'GET' || call.headers?.['idempotency-key'] !== undefined;
  const backoffMs = FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + Math.random());
  if (error instanceof ProblemError) {
    const isLater = isSafe
      ? error.status === 503 || error.code === 'idempotency_in_progress'
      : error.code === 'busy';
    const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs);
    return isLater && waitMs <= LONGEST_WAIT_MS ? waitMs : undefined;
  }
  return isSafe ? backoffMs : undefined;
}

async function refusalOf(response: Response): Promise<ProblemError> {
  const seconds = Number(response.headers.get('retry-after') ?? NaN);
  const retryAfterMs = Number.isNaN(seconds) ? undefined : seconds * 1_000;
  // Whoever stands between may answer with a page of its own.
  const { status } = response;
  const strange = { type: 'about:blank', title: '', status, detail: `HTTP ${status}` };
  const body = (await response.json().catch(() => ({}))) as Partial<Problem>;
  return new ProblemError({ ...strange, code: `http_${status}`, ...body }, retryAfterMs);
}

/** Ends early, and well, when `signal` aborts: whoever waits looks at it. */
export function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, signal?.aborted ? 0 : waitMs);
    signal?.addEventListener('abort', end);
  });
}
