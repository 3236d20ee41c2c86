import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { FaultyRoutes } from '../faulty-route';
import { refundView } from '../payment';
import { check } from '../problem';
import type { Refunds } from '../refunds';
import { amountSchema, idOf, keySchema } from './payments.routes';

const createSchema = z.strictObject({
  paymentId: keySchema,
  amount: amountSchema,
  idempotencyKey: keySchema,
});

export function refundsRoutes(app: FastifyInstance, refunds: Refunds, faulty: FaultyRoutes): void {
  app.post(
    '/v1/refunds',
    faulty.handler('refund.create', async ({ body }) => {
      const { refund, created } = await refunds.create(check(createSchema, body));
      return { status: created ? 201 : 200, body: refundView(refund) };
    }),
  );

  app.get(
    '/v1/refunds/:id',
    faulty.handler('refund.get', async (request) => {
      return { status: 200, body: refundView(refunds.find(idOf(request))) };
    }),
  );
}
