import { idempotencyKey, lastEventId } from '@app/orders/http';
import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiQuery } from '@nestjs/swagger';
import type { z } from 'zod';
import { toSchemaObject } from './json-schema';

/** What a route takes, for the OpenAPI document: from the schemas that also check it. */

export const Takes = (schema: z.ZodType): MethodDecorator => {
  const required = !schema.safeParse(undefined).success;
  return applyDecorators(
    ApiConsumes('application/json'),
    ApiBody({ required, schema: toSchemaObject(schema, 'input') }),
  );
};

export const TakesQuery = (schema: z.ZodObject): MethodDecorator =>
  applyDecorators(
    ...Object.entries(schema.shape).map(([name, parameter]) =>
      ApiQuery({ name, required: false, schema: toSchemaObject(parameter as z.ZodType, 'input') }),
    ),
  );

export const TakesIdempotencyKey = ({ required = true, of = 'order' } = {}): MethodDecorator =>
  ApiHeader({
    name: 'Idempotency-Key',
    required,
    description: `New for a new ${of}; the same to repeat a request whose answer got lost`,
    schema: toSchemaObject(idempotencyKey, 'input'),
  });

export const TakesLastEventId = (): MethodDecorator =>
  ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description:
      "The id of the last event seen: the stream goes on after it. An id that is none of this order's " +
      'events begins it anew, from the first',
    schema: toSchemaObject(lastEventId, 'input'),
  });

export const TakesIfNoneMatch = (): MethodDecorator =>
  ApiHeader({
    name: 'If-None-Match',
    required: false,
    description: 'The ETag of an answer that you still have',
    schema: { type: 'string' },
  });

/** Kept on a route's operation, so that the document knows who answers 429. */
export const UNLIMITED = 'x-unlimited';

export const TakesWebhook = (): MethodDecorator =>
  applyDecorators(
    ApiConsumes('application/json'),
    ApiBody({
      description: 'As the provider sends it; the signature in its headers counts for these bytes',
      schema: { type: 'object', additionalProperties: true },
    }),
  );
