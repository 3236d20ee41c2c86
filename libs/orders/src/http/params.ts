import {
  createParamDecorator,
  type ExecutionContext,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
import { z } from 'zod';
import { LastcallError } from '../order/errors';
import { orderIdOf } from '../order/given-id';
import { invalidInput, readInput } from '../order/read-input';
import { isUuid } from '../order/uuid';
import { idempotencyKey } from '../placing/place-rules';
import type { HttpRequest } from './caller';
import { lastEventId } from './requests';
import { productSku } from './product-requests';

/*
 * Parameter decorators that read and check in one go. They answer synchronously, which spares the
 * promises that Nest's pipes cost on every request.
 */

const requestOf = (context: ExecutionContext): HttpRequest => context.switchToHttp().getRequest();

/** The body, checked by a schema. Not Nest's own `data`: a schema looks like a pipe to it. */
export const InputBody = (schema: z.ZodType): ParameterDecorator =>
  createParamDecorator((_: unknown, context: ExecutionContext) =>
    readInput(schema, requestOf(context).body),
  )();

/** The query parameters, checked by a schema. None is a list: one that comes twice is refused as that. */
export const InputQuery = (schema: z.ZodType): ParameterDecorator =>
  createParamDecorator((_: unknown, context: ExecutionContext) => {
    // Fastify's has no prototype, which the schema would take for something else than an object.
    const query = { ...(requestOf(context).query as Record<string, unknown>) };
    const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]));
    if (repeated.length === 0) return readInput(schema, query);
    throw invalidInput(repeated.map((field) => ({ field, message: 'must be given once only' })));
  })();

/** The order's id. One that cannot exist is answered like one that does not. */
export const OrderId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  return orderIdOf(requestOf(context).params.id);
});

/** The id of a webhook endpoint. One that cannot exist is answered like one that does not. */
export const EndpointId = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { id } = requestOf(context).params;
  if (id !== undefined && isUuid(id)) return id.toLowerCase();
  throw new LastcallError('webhook_endpoint_not_found', 'There is no such webhook endpoint');
});

/** The id of a refund, whatever it looks like: one that cannot exist is answered like one that does not. */
export const RefundId = createParamDecorator(
  (_: unknown, context: ExecutionContext): string => requestOf(context).params.id ?? '',
);

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

/** Who calls: the customer, merchant or operator, as a guard has found out. */
export const Subject = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { caller } = requestOf(context);
  if (!caller) throw new Error('A public route has asked who calls');
  return caller.subject;
});

/** The address that was asked for, without its query: as a client knows it, whatever the prefix. */
export const Address = createParamDecorator((_: unknown, context: ExecutionContext): string =>
  (requestOf(context).originalUrl.split('?', 1)[0] ?? '').replace(/\/+$/, ''),
);

/** JSON, whose bytes Nest's parsers keep where they are told to; what others parse comes from anybody. */
const JSON_TYPE = /^application\/([\w.!#$&^-]+\+)?json\b/i;

/** The bytes that were sent: a signature counts for them, and for nothing that was parsed. */
export const SentBytes = createParamDecorator((_: unknown, context: ExecutionContext): Buffer => {
  const { rawBody, body, headers } = requestOf(context);
  if (rawBody) return rawBody;
  if (Buffer.isBuffer(body)) return body;
  const isEmpty = (headers['content-length'] ?? '0') === '0' && !headers['transfer-encoding'];
  if (body === undefined || body === null || isEmpty) return Buffer.alloc(0);
  if (!JSON_TYPE.test(String(headers['content-type']))) throw new UnsupportedMediaTypeException();
  // The provider sends it again, and by then somebody has read this.
  throw new Error('Webhooks need the bytes: NestFactory.create(App, { rawBody: true })');
});

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
