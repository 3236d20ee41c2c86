import fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify';
import type { Clock } from './clock';
import type { Disputes } from './disputes';
import type { FaultBox } from './faults';
import { FaultyRoutes } from './faulty-route';
import type { Ledger } from './ledger';
import type { Payments } from './payments';
import { refuseOtherOrigins } from './own-machine';
import { problem, Refusal } from './problem';
import type { Refunds } from './refunds';
import { dashboardRoutes } from './routes/dashboard.routes';
import { faultsRoutes } from './routes/faults.routes';
import { ledgerRoutes } from './routes/ledger.routes';
import { payPageRoutes } from './routes/pay-page.routes';
import { paymentsRoutes } from './routes/payments.routes';
import { refundsRoutes } from './routes/refunds.routes';
import { webhooksRoutes } from './routes/webhooks.routes';
import type { WebhookOutbox } from './webhook-outbox';

const BODY_LIMIT_BYTES = 32 * 1024;

export interface ServerParts {
  readonly ledger: Ledger;
  readonly payments: Payments;
  readonly refunds: Refunds;
  readonly disputes: Disputes;
  readonly outbox: WebhookOutbox;
  readonly faults: FaultBox;
  readonly clock: Clock;
  /** Requests wait for it: answers about a ledger that is still being read would be wrong. */
  readonly restored: Promise<void>;
}

export function buildServer(parts: ServerParts): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    frameworkErrors: (error, request, reply) => void answerProblem(error, request, reply),
  });
  const faulty = new FaultyRoutes(parts.faults, parts.clock);
  refuseOtherOrigins(app);
  app.addHook('onRequest', () => parts.restored);
  // Whatever an answer tells of, a refusal too, is to outlive the process.
  app.addHook('onSend', () => parts.ledger.journal.flush());
  app.addHook('preClose', async () => faulty.close());
  acceptEmptyBodies(app);
  app.setErrorHandler<FastifyError | Refusal>(answerProblem);
  app.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, 404, 'route_not_found', 'There is nothing here.'),
  );

  app.get('/health', async () => ({
    status: 'ok',
    ...parts.ledger.counts,
    undeliveredWebhooks: parts.outbox.pendingCount,
  }));
  paymentsRoutes(app, parts.payments, parts.ledger, faulty);
  refundsRoutes(app, parts.refunds, faulty);
  dashboardRoutes(app, parts.refunds, parts.disputes);
  ledgerRoutes(app, parts.ledger);
  faultsRoutes(app, parts.faults);
  webhooksRoutes(app, parts.outbox);
  payPageRoutes(app, parts.payments, parts.clock);
  return app;
}

/** Many clients name a content type also where they send nothing; a form without fields does. */
function acceptEmptyBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, body, done) => {
      if (body === '') done(null, undefined);
      else void parseJson(request, body, done);
    },
  );
  app.removeContentTypeParser('text/plain');
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, _body, done) => done(null, undefined),
  );
}

function answerProblem(
  error: FastifyError | Refusal,
  _request: unknown,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof Refusal) {
    return sendProblem(reply, error.status, error.code, error.message, error.members);
  }
  const status = error.statusCode ?? 500;
  if (status >= 500) {
    console.error(error);
    return sendProblem(reply, 500, 'internal_error', 'Something went wrong.');
  }
  return sendProblem(reply, status, CODES[error.code] ?? 'bad_request', error.message);
}

const CODES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
};

function sendProblem(
  reply: FastifyReply,
  status: number,
  code: string,
  detail: string,
  members = {},
): FastifyReply {
  const body = JSON.stringify(problem(status, code, detail, members));
  return reply.code(status).type('application/problem+json').send(body);
}
