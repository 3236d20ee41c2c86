import type { ApiBodyOptions } from '@nestjs/swagger';
import { z } from 'zod';

export type SchemaObject = Extract<
  Extract<ApiBodyOptions, { schema: unknown }>['schema'],
  { properties?: unknown }
>;

/** OpenAPI 3.1 takes JSON Schema as it is. */
const TARGET = 'draft-2020-12';

/** Where the document keeps a schema. */
export const schemaAt = (name: string): string => `#/components/schemas/${name}`;

/** A zod schema for the document; `input`: as a caller sends it, before any default. */
export function toSchemaObject(schema: z.ZodType, io: 'input' | 'output'): SchemaObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: TARGET, io });
  return rest as SchemaObject;
}

/** Answers by their names; where one holds another, it refers to it. */
export function toComponents(
  schemas: Readonly<Record<string, z.ZodType>>,
): Record<string, SchemaObject> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { target: TARGET, io: 'output', uri: schemaAt });
  return Object.fromEntries(
    Object.entries(made.schemas).map(([name, { $schema: _, $id: __, ...rest }]) => [
      name,
      rest as SchemaObject,
    ]),
  );
}
