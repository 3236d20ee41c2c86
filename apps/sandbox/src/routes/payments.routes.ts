import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FaultyRoutes } from '../faulty-route';
import type { Ledger } from '../ledger';
import type { Payments } from '../payments';
import { check } from '../problem';

export const amountSchema = z.int('must be a whole number of minor units').min(1);
/** Of years with four digits also in UTC: what we tell of any other, as `+010000-...`, few programs read. */
export const instantSchema = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 instant', abort: true })
  .refine((text) => /^\d/.test(new Date(text).toISOString()), 'must be of the years 0 to 9999');
export const keySchema = z.string().min(1).max(200);
const currencySchema = z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code such as EUR');

// They become links on the pay page: nothing that runs.
const webAddressSchema = z.url({ protocol: /^https?$/ }).max(4_000);

const createSchema = z.strictObject({
  reference: keySchema,
  amount: amountSchema,
  currency: currencySchema,
  expiresAt: instantSchema.nullish(),
  payBy: instantSchema.nullish(),
  lines: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(500),
        quantity: z.int().min(1),
        unitPrice: z.int().min(0),
      }),
    )
    .max(100)
    .nullish(),
  successUrl: webAddressSchema.nullish(),
  cancelUrl: webAddressSchema.nullish(),
});
const paySchema = z.strictObject({
  paidAt: instantSchema.optional(),
  amount: amountSchema.optional(),
  currency: currencySchema.optional(),
  afterClose: z.boolean().optional(),
});
const extendSchema = z.strictObject({ expiresAt: instantSchema, payBy: instantSchema.optional() });
const searchSchema = z.strictObject({ reference: keySchema });
const nothingSchema = z.strictObject({});

export function paymentsRoutes(
  app: FastifyInstance,
  payments: Payments,
  ledger: Ledger,
  faulty: FaultyRoutes,
): void {
  app.post(
    '/v1/payments',
    faulty.handler('payment.create', async ({ body }) => {
      const { payment, created } = await payments.create(check(createSchema, body));
      return { status: created ? 201 : 200, body: ledger.view(payment) };
    }),
  );

  app.get(
    '/v1/payments',
    faulty.handler('payment.get', async ({ query }) => {
      const { reference } = check(searchSchema, query);
      const items = payments.findByReference(reference).map((payment) => ledger.view(payment));
      return { status: 200, body: { items } };
    }),
  );

  app.get(
    '/v1/payments/:id',
    faulty.handler('payment.get', async (request) => {
      return { status: 200, body: ledger.view(payments.find(idOf(request))) };
    }),
  );

  app.post(
    '/v1/payments/:id/close',
    faulty.handler('payment.close', async (request) => {
      check(nothingSchema, request.body ?? {});
      return { status: 200, body: ledger.view(await payments.close(idOf(request))) };
    }),
  );

  app.post(
    '/v1/payments/:id/extend',
    faulty.handler('payment.extend', async (request) => {
      const moreTime = check(extendSchema, request.body ?? {});
      return { status: 200, body: ledger.view(await payments.extend(idOf(request), moreTime)) };
    }),
  );

  // The buyer's own doings: they stand for a browser at the provider and know no faults.
  app.post('/v1/payments/:id/pay', async (request) => {
    const buyer = check(paySchema, request.body ?? {});
    return ledger.view(await payments.pay(idOf(request), buyer));
  });

  app.post('/v1/payments/:id/fail', async (request) => {
    check(nothingSchema, request.body ?? {});
    return ledger.view(await payments.fail(idOf(request)));
  });
}

export function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}
