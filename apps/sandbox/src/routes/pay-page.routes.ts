import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock';
import { endOf, payPage } from '../pay-page';
import type { Payments } from '../payments';
import { Refusal } from '../problem';
import { idOf } from './payments.routes';

/** What the buyer's browser talks to. Plain forms: it works without scripts as well. */
export function payPageRoutes(app: FastifyInstance, payments: Payments, clock: Clock): void {
  app.get('/pay/:id', async (request, reply) => {
    const payment = payments.find(idOf(request));
    const nonce = randomBytes(16).toString('base64');
    reply.header(
      'content-security-policy',
      `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; ` +
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
    return reply.type('text/html; charset=utf-8').send(payPage(payment, clock.now(), nonce));
  });

  app.get('/pay/:id/status', async (request, reply) => {
    const payment = payments.find(idOf(request));
    const { status } = payment;
    return reply.header('cache-control', 'no-store').send({ status, end: endOf(payment) });
  });

  app.post('/pay/:id/pay', async (request, reply) => {
    await payments.pay(idOf(request), {}).catch(showOnPage);
    return reply.redirect(`/pay/${idOf(request)}`, 303);
  });

  app.post('/pay/:id/fail', async (request, reply) => {
    await payments.fail(idOf(request)).catch(showOnPage);
    return reply.redirect(`/pay/${idOf(request)}`, 303);
  });
}

/** Paid or closed meanwhile: the page the browser goes back to says so. */
function showOnPage(error: unknown): void {
  if (!(error instanceof Refusal) || error.status !== 409) throw error;
}
