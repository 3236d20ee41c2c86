import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PROBLEM_TYPE } from '@app/orders/http';

/** Set by set-up.ts: where the processes of a test run write what their APIs have answered. */
export const FOLDER = 'LASTCALL_TEST_ANSWERS';

const codes = new WeakMap<FastifyRequest, string>();
const written = new Set<string>();

/**
 * Writes down every kind of answer that an API under test gives, once a process: method, route,
 * status, and the code of a problem. compare-answers.ts holds them against the document.
 */
export function recordAnswers(fastify: FastifyInstance): void {
  const folder = process.env[FOLDER];
  if (!folder) return;
  fastify.addHook('onSend', (request, reply, payload, done) => {
    const isProblem = String(reply.getHeader('content-type')).startsWith(PROBLEM_TYPE);
    const keep = (text: string): void => {
      codes.set(request, (JSON.parse(text) as { code: string }).code);
    };
    if (isProblem && typeof payload === 'string') keep(payload);
    // Said at once, and ended once the request has been read.
    if (isProblem && payload instanceof Readable) payload.once('data', keep);
    done(null, payload);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const line = lineOf(request, reply);
    if (line !== undefined && !written.has(line)) {
      written.add(line);
      appendFileSync(join(folder, `${process.pid}.txt`), `${line}\n`);
    }
    done();
  });
}

/** Undefined for an address that is no route's, and for a client that left before the answer. */
function lineOf(request: FastifyRequest, reply: FastifyReply): string | undefined {
  const { method, routeOptions } = request;
  if (request.is404 || !routeOptions.url || method === 'HEAD' || method === 'OPTIONS') return;
  if (!reply.raw.headersSent) return;
  const path = routeOptions.url.replace(/:(\w+)/g, '{$1}');
  const status = reply.raw.statusCode;
  return [method, path, status, codes.get(request)].filter((part) => part !== undefined).join(' ');
}
