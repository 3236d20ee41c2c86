import { isUuid, LastcallError, orderNotFound } from '@app/orders';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Caller } from '../auth/caller';
import { invalidInput, readInput } from './read-input';
import { idempotencyKey, lastEventId, productSku } from './requests';

/*
 * Parameter decorators that read and check in one go. They answer synchronously, which spares the
 * promises that Nest's pipes cost on every request.
 */

type Request = FastifyRequest<{ Params: Record<string, string> }>;

const requestOf = (context: ExecutionContext): Request => context.switchToHttp().getRequest();

/** The body, checked by a schema. Not Nest's own `data`: a schema looks like a pipe to it. */
export const InputBody = (schema: z.ZodType): ParameterDecorator =>
  createParamDecorator((_: unknown, context: ExecutionContext) =>
    readInput(schema, requestOf(context).body),
  )();

/** The query parameters, checked by a schema. */
export const InputQuery = (schema: z.ZodType): ParameterDecorator =>
  createParamDecorator((_: unknown, context: ExecutionContext) =>
    // Fastify's has no prototype, which the schema would take for something else than an object.
    readInput(schema, { ...(requestOf(context).query as object) }),
  )();

/** The order's id. One that cannot exist is answered like one that does not. */
export const OrderId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { id } = requestOf(context).params;
  if (id === undefined || !isUuid(id)) throw orderNotFound();
  return id.toLowerCase();
});

/** The id of a webhook endpoint. One that cannot exist is answered like one that does not. */
export const EndpointId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { id } = requestOf(context).params;
  if (id !== undefined && isUuid(id)) return id.toLowerCase();
  throw new LastcallError('webhook_endpoint_not_found', 'There is no such webhook endpoint');
});

/** A product's SKU, as the path has it. */
export const ProductSku = createParamDecorator(
  (_: unknown, context: ExecutionContext): string =>
    readInput(z.strictObject({ sku: productSku }), { sku: requestOf(context).params.sku }).sku,
);

/** The id of anything but an order. */
export const SubjectId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { id } = requestOf(context).params;
  if (id === undefined || !isUuid(id)) throw new LastcallError('not_found', 'There is no such id');
  return id.toLowerCase();
});

/** The `sub` of the caller's token: the customer, merchant or operator. */
export const Subject = createParamDecorator(
  (_: unknown, context: ExecutionContext): string => callerOf(context).subject,
);

/** The caller of a route that is not public. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller =>
  callerOf(context),
);

export const IdempotencyKey = createParamDecorator(
  (_: unknown, context: ExecutionContext): string => {
    const key = requestOf(context).headers['idempotency-key'];
    if (key === undefined || key === '') {
      const message = 'Send the header Idempotency-Key: any text that is new for a new order';
      throw new LastcallError('idempotency_key_missing', message);
    }
    return readHeader('Idempotency-Key', idempotencyKey, key);
  },
);

/** Of a route that also does without one. */
export const OptionalIdempotencyKey = createParamDecorator(
  (_: unknown, context: ExecutionContext): string | undefined => {
    const key = requestOf(context).headers['idempotency-key'];
    const isGiven = key !== undefined && key !== '';
    return isGiven ? readHeader('Idempotency-Key', idempotencyKey, key) : undefined;
  },
);

/** Where a stream of events goes on; undefined for its beginning. */
export const LastEventId = createParamDecorator(
  (_: unknown, context: ExecutionContext): string | undefined => {
    const id = requestOf(context).headers['last-event-id'];
    return id === undefined || id === '' ? undefined : readHeader('Last-Event-ID', lastEventId, id);
  },
);

function readHeader(field: string, schema: z.ZodType<string>, value: unknown): string {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidInput([{ field, message: result.error.issues[0]?.message ?? 'is not valid' }]);
}

function callerOf(context: ExecutionContext): Caller {
  const { caller } = requestOf(context);
  if (!caller) throw new Error('A public route has asked who calls');
  return caller;
}
