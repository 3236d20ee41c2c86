import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ledger } from '../ledger';
import { check } from '../problem';
import { instantSchema } from './payments.routes';

const MAX_LIMIT = 10_000;

const pageSchema = z.strictObject({
  since: instantSchema.optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).optional(),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the nextCursor of an earlier page')
    .optional(),
});

export function ledgerRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get('/v1/ledger', async ({ query }) => {
    const { since, limit, cursor } = check(pageSchema, query);
    const sinceMs = since === undefined ? null : Date.parse(since);
    return ledger.page(sinceMs, Number(cursor ?? 0), limit ?? Infinity);
  });
}
