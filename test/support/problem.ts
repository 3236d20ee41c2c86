import type { Answer } from './app';

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly instance: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

/** Asserts that an answer is a problem as the contract has it, and returns its body. */
export function expectProblem(answer: Answer<unknown>, status: number, code: string): ProblemBody {
  expect(answer).toMatchObject({ status, body: { status, code } });
  const body = answer.body as ProblemBody;
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json\b/);
  expect(body.type).toBe(`urn:lastcall:problem:${code}`);
  expect(body.title.length).toBeGreaterThan(0);
  expect(body.detail.length).toBeGreaterThan(0);
  expect(JSON.stringify(body)).not.toMatch(/\bat .+:\d+:\d+|SELECT |INSERT |UPDATE |node_modules/);
  if (status === 429 || status === 503) {
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  return body;
}
