import { isUuid, StreamTokens } from '@app/orders';
import { applyDecorators, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { invalidToken } from './invalid-token';

/** Kept on a route's operation, so that the document says so (openapi/document.ts). */
export const STREAM_TOKEN = 'x-stream-token';

export const TakesStreamToken = Reflector.createDecorator<true>();

/** Also for callers with a stream token in the address: EventSource sends no header. */
export const OrStreamToken = (): MethodDecorator =>
  applyDecorators(TakesStreamToken(true), ApiExtension(STREAM_TOKEN, true));

declare module 'fastify' {
  interface FastifyRequest {
    /** When the stream token of this request ends, in ms since the epoch; null without one. */
    streamEndsAtMs: number | null;
  }
}

type StreamRequest = FastifyRequest<{
  Params: { id?: string };
  Querystring: { token?: unknown };
}>;

/** Lets in whoever has a token for the stream of the order at this address. */
@Injectable()
export class StreamAccess {
  constructor(private readonly tokens: StreamTokens) {}

  /** Whether the caller shows such a token; one in the header goes before it. */
  isAsked(request: FastifyRequest): boolean {
    return request.headers.authorization === undefined && tokenOf(request) !== undefined;
  }

  /** @throws {LastcallError} unauthorized */
  async admit(request: FastifyRequest): Promise<true> {
    const { id = '' } = (request as StreamRequest).params;
    const token = tokenOf(request);
    const endsAtMs =
      typeof token === 'string' && isUuid(id)
        ? await this.tokens.endOf(token, id.toLowerCase())
        : undefined;
    if (endsAtMs === undefined) {
      throw invalidToken('The stream token has expired, or is not for this order; get a new one');
    }
    request.streamEndsAtMs = endsAtMs;
    return true;
  }
}

const tokenOf = (request: FastifyRequest): unknown => (request as StreamRequest).query.token;
