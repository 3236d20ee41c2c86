import { randomBytes } from 'node:crypto';
import type { Config } from '@app/orders';
import { problem } from '@app/orders/http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptTokenAsPassword } from '../auth/token-as-password';
import type { Draining } from '../draining';
import type { Logger } from '../logging/logger';
import type { SharedCounts } from '../rate-limit/shared-counts';
import {
  applyBodyLimit,
  refuseEncodedBody,
  refuseUnknownRoute,
  registerBodyParsers,
} from './body-parsers';
import { answerClientError } from './client-error';
import { allowOrigins } from './cors';
import type { KnownRoutes } from './known-routes';
import { limitDocument } from './limit-document';
import { sendProblem } from './send-problem';
import { addSecurityHeaders, SECURITY_HEADERS } from './security-headers';
import { isUnused, TIMED_OUT, UnusedConnections } from './unused-connections';

const BODY_LIMIT = 32 * 1024;
/** From the first byte of a request to its last: long for any honest client. */
const REQUEST_TIMEOUT_MS = 15_000;
/** Each costs memory before it has said a word; a proxy in front keeps far fewer. */
const MAX_CONNECTIONS = 5_000;
/** A socket that says nothing for so long is gone; event streams send a comment every 15 s. */
const CONNECTION_TIMEOUT_MS = 60_000;
/** Longer than the usual 60 s of proxies, so that it is they who close idle connections. */
const KEEP_ALIVE_MS = 72_000;
/** A path parameter is an id or a provider's name. */
const MAX_PARAM_LENGTH = 100;

export interface AdapterParts {
  readonly config: Pick<Config, 'TRUST_PROXY' | 'RATE_LIMIT' | 'CORS_ORIGINS'>;
  readonly counts: Pick<SharedCounts, 'increment'>;
  readonly logger: Logger;
  readonly draining: Draining;
  readonly routes: KnownRoutes;
}

/** Fastify with every limit set, and every answer of 400 and above a problem. */
export function createFastifyAdapter(
  { config, counts, logger, draining, routes }: AdapterParts,
  { timeoutMs = REQUEST_TIMEOUT_MS, maxConnections = MAX_CONNECTIONS } = {},
): FastifyAdapter {
  const nextRequestId = requestIds();
  const adapter = new FastifyAdapter({
    logger: false,
    // Behind nobody the header is whatever a client makes up.
    trustProxy: config.TRUST_PROXY ? [...config.TRUST_PROXY] : false,
    // Node looks at them every 30 s by default, which makes 15 s up to 45.
    http: {
      headersTimeout: timeoutMs,
      connectionsCheckingInterval: Math.min(1_000, timeoutMs),
      // Node would refuse it without a word: demandHost does so.
      requireHostHeader: false,
    },
    bodyLimit: BODY_LIMIT,
    requestTimeout: timeoutMs,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // While draining, connections that are open are still served, and then closed.
    return503OnClosing: false,
    genReqId: nextRequestId,
    clientErrorHandler: (error, socket) => {
      // It is idle, like one that has been answered: whoever asks by it at that moment would take a 408 for the answer.
      if (error.code === TIMED_OUT && isUnused(socket)) socket.setTimeout(KEEP_ALIVE_MS);
      else answerClientError(error, socket);
    },
    frameworkErrors: (error: FastifyError, _request: FastifyRequest, reply: FastifyReply) => {
      // The router's own refusals: an address it cannot read, or a parameter that is too long.
      const isTooLong = error.code === 'FST_ERR_MAX_PARAM_LENGTH';
      const answer = isTooLong
        ? problem('uri_too_long', 'The address has a part that is too long')
        : problem('invalid_request', 'The address cannot be read');
      // No hook runs for these.
      sendProblem(reply, answer, SECURITY_HEADERS);
    },
    // No Nest middleware here, and its dispatcher would run on every request.
    skipMiddie: true,
  });
  if (config.CORS_ORIGINS) allowOrigins(adapter, config.CORS_ORIGINS);
  const fastify = adapter.getInstance<FastifyInstance>();
  fastify.server.maxConnections = maxConnections;
  prepare(fastify, { config, counts, logger, draining, routes });
  return adapter;
}

function prepare(
  fastify: FastifyInstance,
  { config, counts, logger, draining, routes }: AdapterParts,
): void {
  registerBodyParsers(fastify);
  fastify.decorateRequest('caller', null);
  fastify.decorateRequest('streamEndsAtMs', null);
  fastify.addHook('onRoute', (route) => {
    applyBodyLimit(route);
    acceptTokenAsPassword(route);
    if (config.RATE_LIMIT) limitDocument(route, counts, config.RATE_LIMIT);
    routes.add(route);
  });
  fastify.addHook('onRequest', demandHost);
  // Whoever expects what we do not know is served as everybody, and not refused without a word.
  fastify.server.on('checkExpectation', (request, response) =>
    fastify.server.emit('request', request, response),
  );
  fastify.addHook('preParsing', refuseUnknownRoute);
  fastify.addHook('preParsing', refuseEncodedBody);
  // With the answer, as a request may have come in before draining began.
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    if (draining.isDraining) reply.header('connection', 'close');
    done(null, payload);
  });
  fastify.addHook('onSend', addSecurityHeaders);
  const unused = new UnusedConnections(fastify.server);
  fastify.addHook('preClose', (done) => {
    readWhatHasCome(() => {
      unused.hangUp();
      done();
    });
  });
  if (logger.isLevelEnabled('debug')) logRequests(fastify, logger);
}

/**
 * Node hangs up on whoever it waits for, also where their next request has arrived and was not read yet: a
 * proxy makes that a 502. Each turn of its loop reads all there is, and then comes here: the first what came
 * while it was busy, the second what came during that.
 */
function readWhatHasCome(done: () => void): void {
  setImmediate(() => setImmediate(done));
}

/**
 * Any HTTP but 1.0 has to name one, and none more than one (RFC 9112): what stands in front of us may have
 * gone by the other. Node keeps the first, and has no option that refuses it.
 */
function demandHost({ raw }: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const hosts = countHosts(raw.rawHeaders);
  if (hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0')) return done();
  reply.header('connection', 'close');
  const detail =
    hosts === 0 ? 'The header Host is missing' : 'The request has more than one header Host';
  sendProblem(reply, problem('invalid_request', detail));
}

/** A name and its value take turns. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** A line a request costs more than many a request itself: only when somebody debugs. */
function logRequests(fastify: FastifyInstance, logger: Logger): void {
  fastify.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method } = request;
    const path = request.url.split('?', 1)[0];
    const tookMs = Math.round(reply.elapsedTime * 10) / 10;
    logger.debug({ requestId, method, path, status: reply.statusCode, tookMs }, 'request');
    done();
  });
}

/** Ids unique among processes, without asking for random bytes for each. */
function requestIds(): () => string {
  const prefix = randomBytes(6).toString('base64url');
  let count = 0;
  return () => `${prefix}-${(count += 1).toString(36)}`;
}
