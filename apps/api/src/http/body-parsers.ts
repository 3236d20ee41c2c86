import { isUtf8 } from 'node:buffer';
import { problem } from '@app/orders/http';
import {
  BadRequestException,
  NotFoundException,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
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
      else if (!isUtf8(body)) done(new BadRequestException('The body is not UTF-8'));
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

/** Where nobody takes it, a body is not what is wrong. For Fastify's `preParsing`. */
export function refuseUnknownRoute(
  { is404 }: FastifyRequest,
  _reply: FastifyReply,
  _payload: unknown,
  done: (error: Error | null) => void,
): void {
  done(is404 ? new NotFoundException() : null);
}

/** Before the body is read. For Fastify's `preParsing`. */
export function refuseEncodedBody(
  request: FastifyRequest,
  reply: FastifyReply,
  _payload: unknown,
  done: () => void,
): void {
  const detail = refusalOfEncoding(request);
  if (detail === undefined) done();
  else sendProblem(reply, problem('unsupported_media_type', detail));
}

/** Packed bytes are neither JSON nor what a signature counts for; the latter counts whatever a charset says. */
function refusalOfEncoding(request: FastifyRequest): string | undefined {
  const { 'content-encoding': encoding = '', 'content-type': type = '' } = request.headers;
  if (encoding !== '' && encoding !== 'identity') {
    return 'Send the body as it is: no Content-Encoding is taken';
  }
  if (wantsRawBody(request) || !hasBody(request)) return undefined;
  const charsets = [...type.matchAll(CHARSET)].map(([, charset]) => charset?.toLowerCase());
  return charsets.every((one) => one !== undefined && UTF_8.includes(one))
    ? undefined
    : 'Send the body in UTF-8: no other charset is taken';
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s;"]*)/gi;
/** By all of its names; what is ASCII is the same in it. */
const UTF_8 = ['utf-8', 'utf8', 'us-ascii', 'ascii'];

function hasBody({ headers }: FastifyRequest): boolean {
  return 'transfer-encoding' in headers || (headers['content-length'] ?? '0') !== '0';
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
