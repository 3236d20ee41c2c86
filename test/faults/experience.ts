/** What whoever called was told, and after how long; status 0: nothing. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, never> & { readonly [name: string]: unknown };
  readonly headers: Headers;
  readonly tookMs: number;
}

/** How the API did, as its callers saw it. */
export interface Experience {
  requests: number;
  accepted: number;
  slowestAcceptedMs: number;
  refused: number;
  slowestRefusedMs: number;
  /** No answer at all: the connection broke, or nobody was there. */
  unanswered: number;
  /** Answers that no client should ever see: 500 and the like. */
  readonly wrong: string[];
}

/** What went `wrong` before is not forgotten. */
export function newExperience(wrong: readonly string[] = []): Experience {
  return {
    ...{ requests: 0, accepted: 0, slowestAcceptedMs: 0, refused: 0, slowestRefusedMs: 0 },
    ...{ unanswered: 0, wrong: [...wrong] },
  };
}

export function note(experience: Experience, { status, tookMs, body }: Answer): void {
  experience.requests += 1;
  if (status >= 200 && status < 300) {
    experience.accepted += 1;
    experience.slowestAcceptedMs = Math.max(experience.slowestAcceptedMs, tookMs);
  } else if (status === 0) experience.unanswered += 1;
  else if (status === 503 || status === 502) {
    experience.refused += 1;
    experience.slowestRefusedMs = Math.max(experience.slowestRefusedMs, tookMs);
  } else if (status >= 500) experience.wrong.push(`${status} ${String(body.code)}`);
}
