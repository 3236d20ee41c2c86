import { type Problem, PROBLEM_TYPE } from '@app/orders/http';
import type { FastifyReply } from 'fastify';

export function sendProblem(
  reply: FastifyReply,
  answer: Problem,
  headers: Readonly<Record<string, string>> = {},
): void {
  const instance = `urn:lastcall:request:${reply.request.id}`;
  void reply
    .code(answer.status)
    .headers({ ...headers, 'content-type': PROBLEM_TYPE })
    .send(JSON.stringify({ ...answer, instance }));
}
