import type { IncomingHttpHeaders } from 'node:http';

/** The scopes a route can ask for. */
export type ScopeName = 'orders' | 'merchant' | 'ops:read' | 'ops:write' | 'ops:admin' | 'metrics';

/** Who calls, once a guard has found out. */
export interface Caller {
  /** The customer's or operator's id. */
  readonly subject: string;
  readonly scopes: ReadonlySet<ScopeName>;
}

/** What routes read of a request, be it Express' or Fastify's. */
export interface HttpRequest {
  readonly originalUrl: string;
  readonly headers: IncomingHttpHeaders;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
  /** The bytes that were sent, where Nest was told to keep them. */
  readonly rawBody?: Buffer;
  /** Set by a guard; what stands there is who a route serves. */
  caller?: Caller | null;
}

/** What routes say beside their answer's body, be it Express' or Fastify's. */
export interface HttpReply {
  header(name: string, value: string): unknown;
  status(code: number): unknown;
}
