import type { ScopeName } from './access';

/** Who calls, as the verified token says. */
export interface Caller {
  /** The customer's or operator's id: the token's `sub`. */
  readonly subject: string;
  readonly scopes: ReadonlySet<ScopeName>;
  /** When the token ends, in milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the token has been verified; null before, and for callers without one. */
    caller: Caller | null;
  }
}
