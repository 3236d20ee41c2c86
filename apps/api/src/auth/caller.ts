import type { Caller as HttpCaller } from '@app/orders/http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** Who calls, as the verified token says: its `sub`, and what it grants. */
export interface Caller extends HttpCaller {
  /** When the token or session ends, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** Known by the cookie of a page, whose session ends then. */
  readonly isOfPage?: true;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the token has been verified; null before, and for callers without one. */
    caller: Caller | null;
  }
}

/** The caller of a route that is not public. */
export const CurrentCaller = createParamDecorator(
  (_: unknown, context: ExecutionContext): Caller => {
    const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
    if (!caller) throw new Error('A public route has asked who calls');
    return caller;
  },
);
