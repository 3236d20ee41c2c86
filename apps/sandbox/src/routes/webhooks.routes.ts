import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { mayReceive } from '../own-machine';
import { check, invalid } from '../problem';
import type { WebhookOutbox } from '../webhook-outbox';
import { keySchema } from './payments.routes';

const MAX_COPIES = 100;

const listSchema = z.strictObject({
  status: z.enum(['pending', 'delivered', 'dropped']).optional(),
  providerPaymentId: keySchema.optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});
const resendSchema = z.strictObject({
  eventId: keySchema,
  /** How many times beside the one, all at once. */
  copies: z.int().min(0).max(MAX_COPIES).default(0),
});
const endpointSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
});

export function webhooksRoutes(app: FastifyInstance, outbox: WebhookOutbox): void {
  const configured = outbox.url;
  app.get('/v1/webhooks', async ({ query }) => {
    const { limit, ...filter } = check(listSchema, query);
    return { items: outbox.list(filter, limit), pendingCount: outbox.pendingCount };
  });

  app.post('/v1/webhooks/resend', async ({ body }, reply) => {
    const { eventId, copies } = check(resendSchema, body);
    return reply.code(202).send(await outbox.resend(eventId, copies));
  });

  app.get('/v1/webhooks/endpoint', async () => ({ url: outbox.url }));

  app.put('/v1/webhooks/endpoint', async ({ body }) => {
    const { url } = check(endpointSchema, body);
    if (!mayReceive(url, configured)) {
      throw invalid([{ field: 'url', message: 'must be on this machine' }]);
    }
    outbox.url = url;
    return { url };
  });
}
