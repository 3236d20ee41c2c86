import { type Problem, PROBLEM_TYPE } from '@app/orders/http';
import type { FastifyReply } from 'fastify';
import { stayForBody } from './stay-for-body';

export function sendProblem(
  reply: FastifyReply,
  answer: Problem,
  headers: Readonly<Record<string, string>> = {},
): void {
  const instance = `urn:lastcall:request:${reply.request.id}`;
  const text = JSON.stringify({ ...answer, instance });
  void reply
    .code(answer.status)
    .headers({
      ...headers,
      'content-type': PROBLEM_TYPE,
      'content-length': Buffer.byteLength(text),
    })
    .send(stayForBody(reply.request.raw, text));
}
