import { problem } from '@app/orders/http';
import { BadRequestException, UnsupportedMediaTypeException } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendProblem } from './send-problem';

/** Marks, by Nest's `@RouteConfig`, a route whose body stays the bytes that were sent. */
export const RAW_BODY = { rawBody: true, bodyLimit: 256 * 1024 } as const;

interface RouteWishes {
  readonly rawBody?: boolean;
  readonly bodyLimit?: number;
}

type Done = (error: Error | null, body?: unknown) => void;

/**
 * JSON for every route, but for those that want the raw bytes: a signature counts for the bytes
 * that were sent, whatever the sender calls their type.
 */
export function registerBodyParsers(fastify: FastifyInstance): void {
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done: Done) => {
      if (wantsRawBody(request)) done(null, body);
      // Clients that always send the header do so without a body too; what needs one says so.
      else if (body.length === 0) done(null, undefined);
      else {
        const text = body.toString('utf8');
        const parsed: Done = (error, value) => done(error && unreadable(text), value);
        void parseJson(request, text, parsed);
      }
    },
  );
  fastify.addContentTypeParser(
    '*',
    { parseAs: 'buffer' },
    (request: FastifyRequest, body: Buffer, done: Done) => {
      if (wantsRawBody(request)) done(null, body);
      else done(new UnsupportedMediaTypeException());
    },
  );
}

/** Before the body is read: packed bytes are neither JSON nor what a signature counts for. For Fastify's `preParsing`. */
export function refuseEncodedBody(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  _payload: unknown,
  done: () => void,
): void {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding === '' || encoding === 'identity') return done();
  const detail = 'Send the body as it is: no Content-Encoding is taken';
  sendProblem(reply, problem('unsupported_media_type', detail));
}

/** Gives the routes that ask for one their own body limit; for Fastify's `onRoute` hook. */
export function applyBodyLimit(route: { config?: unknown; bodyLimit?: number }): void {
  const { bodyLimit } = (route.config ?? {}) as RouteWishes;
  if (bodyLimit !== undefined) route.bodyLimit = bodyLimit;
}

/** Fastify calls JSON that it refuses for the names in it invalid. */
function unreadable(text: string): Error {
  try {
    JSON.parse(text);
  } catch {
    return new BadRequestException('The body is not valid JSON');
  }
  return new BadRequestException(
    'The body has a field "__proto__" or "constructor.prototype": no request has one',
  );
}

function wantsRawBody(request: FastifyRequest): boolean {
  return (request.routeOptions.config as RouteWishes).rawBody === true;
}
