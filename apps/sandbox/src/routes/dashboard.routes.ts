import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Disputes } from '../disputes';
import { refundView } from '../payment';
import { check } from '../problem';
import type { Refunds } from '../refunds';
import { amountSchema, idOf } from './payments.routes';

const amountsSchema = z.strictObject({ amount: amountSchema.optional() });
const lostSchema = z.strictObject({ returned: amountSchema.optional() });
const nothingSchema = z.strictObject({});

/** What people and banks do at a provider, and no merchant's program asked for; it knows no faults. */
export function dashboardRoutes(app: FastifyInstance, refunds: Refunds, disputes: Disputes): void {
  app.post('/v1/payments/:id/refund', async (request, reply) => {
    const { amount } = check(amountsSchema, request.body ?? {});
    return reply.code(201).send(refundView(await refunds.createByHand(idOf(request), amount)));
  });

  app.post('/v1/refunds/:id/fail', async (request) => {
    check(nothingSchema, request.body ?? {});
    return refundView(await refunds.failLater(idOf(request)));
  });

  app.post('/v1/payments/:id/dispute', async (request, reply) => {
    const { amount } = check(amountsSchema, request.body ?? {});
    return reply.code(201).send(await disputes.open(idOf(request), amount));
  });

  app.post('/v1/disputes/:id/win', async (request) => disputes.decide(idOf(request), 'won'));
  app.post('/v1/disputes/:id/lose', async (request) => {
    const { returned } = check(lostSchema, request.body ?? {});
    return disputes.decide(idOf(request), 'lost', returned);
  });
}
