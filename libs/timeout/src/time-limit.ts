/** Something did not happen in the time it was given. It may still happen later. */
export class TimeLimitError extends Error {
  readonly code = 'time_limit';

  constructor(what: string, limitMs: number) {
    super(`${what} within ${limitMs} ms`);
    this.name = 'TimeLimitError';
  }
}

/** Twenty-four days: a timer of Node that is set for longer ends at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Waits for `promise`, but no longer than `limitMs`; then rejects with "`what` within n ms". The
 * promise itself goes on: a late rejection is taken care of, a late result is lost. Infinity, or
 * more than Node has timers for: as long as it takes.
 */
export async function withTimeLimit<T>(
  promise: Promise<T>,
  limitMs: number,
  what: string,
): Promise<T> {
  if (limitMs > LONGEST_MS) return promise;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeLimitError(what, limitMs)), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
