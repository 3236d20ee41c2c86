import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';

/**
 * Marks, by Nest's `@RouteConfig`, a route that people open in a browser: it asks for a name and a
 * password, and the password is the token. For routes that only read: a browser goes on to send
 * what was typed with every request to them, whoever made it send one.
 */
export const TOKEN_AS_PASSWORD = { tokenAsPassword: true } as const;

const CHALLENGE =
  'Basic realm="lastcall: any name, and as the password a token with the scope ops:read", charset="UTF-8"';

/** For Fastify's `onRoute` hook: routes without the mark get no hook, and pay nothing. */
export function acceptTokenAsPassword(
  route: Pick<RouteOptions, 'config' | 'onRequest' | 'onSend'>,
): void {
  const config: { tokenAsPassword?: boolean } = route.config ?? {};
  if (config.tokenAsPassword !== true) return;
  route.onRequest = (request, _reply, done) => {
    const password = passwordIn(request.headers.authorization);
    if (password !== undefined) request.headers.authorization = `Bearer ${password}`;
    done();
  };
  route.onSend = (request: FastifyRequest, reply: FastifyReply, payload: unknown, done) => {
    // Programs are told of the token alone: theirs is no password.
    const isBrowser = request.headers.accept?.includes('text/html') ?? false;
    if (reply.statusCode === 401 && isBrowser) reply.header('www-authenticate', CHALLENGE);
    done(null, payload);
  };
}

function passwordIn(header: string | undefined): string | undefined {
  const encoded = /^Basic +([\w+/]+=*)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = credentials.indexOf(':');
  return colon < 0 ? undefined : credentials.slice(colon + 1);
}
