import type { ApiBodyOptions } from '@nestjs/swagger';
import { z } from 'zod';

export type SchemaObject = Extract<
  Extract<ApiBodyOptions, { schema: unknown }>['schema'],
  { properties?: unknown }
>;

/** A zod schema as OpenAPI 3.0 writes it; `input`: as a caller sends it, before any default. */
export function toSchemaObject(schema: z.ZodType, io: 'input' | 'output'): SchemaObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'openapi-3.0', io });
  return rest as SchemaObject;
}
