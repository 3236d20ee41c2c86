/** A refusal of the API, as it says it (RFC 9457). */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

/** How long one question may take before it counts as lost. */
const LIMIT_MS = 10_000;

/**
 * Asks our own API; the cookie says who asks. @throws {Refused} where it refuses;
 * TypeError or TimeoutError where it does not answer
 */
export async function ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(path, {
    method,
    signal: AbortSignal.timeout(LIMIT_MS),
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  const answer = (isJson && text ? JSON.parse(text) : undefined) as unknown;
  if (response.ok) return answer as Answer;
  const { code = 'unknown', detail = '' } = (answer ?? {}) as { code?: string; detail?: string };
  throw new Refused(response.status, code, detail || `The answer was ${response.status}`);
}
