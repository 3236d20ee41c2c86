import type { AnswerWords as RouteWords, ProblemCode } from '@app/orders/http';
import { applyDecorators, HttpCode } from '@nestjs/common';
import { ApiExtension, ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { ResponseName } from './responses';

/** Codes a route may refuse with, kept on its operation; document.ts turns them into answers. */
export const REFUSALS = 'x-problem-codes';

/** Faults of ours that a route may answer with, kept on its operation. */
export const FAULTS = 'x-fault-codes';
const ALL_FAULTS = ['internal_error', 'unavailable'] as const satisfies readonly ProblemCode[];

export interface AnswerWords extends RouteWords {
  /** Of ours, where not all of them can happen. */
  readonly faults?: readonly (typeof ALL_FAULTS)[number][];
}

/** Answers that are not JSON, by the name of their schema. */
const MEDIA_TYPES: Partial<Record<ResponseName, string>> = {
  OrderEventStream: 'text/event-stream',
  Metrics: 'text/plain',
};

/** How a route answers when all is well, and what it may refuse: the status and the document. */
export function Answers(
  status: number,
  name: ResponseName,
  { summary, refusals = [], also = {}, headers = {}, faults = ALL_FAULTS }: AnswerWords,
): MethodDecorator {
  const mediaType = MEDIA_TYPES[name] ?? 'application/json';
  return applyDecorators(
    HttpCode(status),
    ApiOperation({ summary }),
    ApiExtension(REFUSALS, refusals),
    ApiExtension(FAULTS, faults),
    ...Object.entries(also).map(([other, description]) =>
      ApiResponse({ status: Number(other), description }),
    ),
    ApiResponse({
      status,
      description: summary,
      headers: Object.fromEntries(
        Object.entries(headers).map(([header, description]) => [
          header,
          { description, schema: { type: 'string' } },
        ]),
      ),
      content: { [mediaType]: { schema: { $ref: `#/components/schemas/${name}` } } },
    }),
  );
}
