import { UnsupportedMediaTypeException } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';

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
      else void parseJson(request, body.toString('utf8'), done);
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

/** Gives the routes that ask for one their own body limit; for Fastify's `onRoute` hook. */
export function applyBodyLimit(route: { config?: unknown; bodyLimit?: number }): void {
  const { bodyLimit } = (route.config ?? {}) as RouteWishes;
  if (bodyLimit !== undefined) route.bodyLimit = bodyLimit;
}

function wantsRawBody(request: FastifyRequest): boolean {
  return (request.routeOptions.config as RouteWishes).rawBody === true;
}
