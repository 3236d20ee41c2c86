import fc, { type Arbitrary } from 'fast-check';

/** What is read of a JSON schema as OpenAPI documents have it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
}

/** What nobody means: other types, ends of ranges, text that is code somewhere. */
export const HOSTILE: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, 2 ** 53, '', ' ', [], {}, [[]], 'null'),
  fc.constantFrom("' OR 1=1 --", '\u0000', '\u202e', '\ud800', '%00', '../../etc/passwd', '${7*7}'),
  fc.constantFrom('x'.repeat(5_000), '🙂'.repeat(300), '2026-02-30T00:00:00Z', '-0', '1e1000'),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Values that the schema allows, most of the time: each part of each may be hostile instead. */
export function fromSchema(schema: Schema, find: (ref: string) => Schema): Arbitrary<unknown> {
  return fc.oneof(
    { weight: 9, arbitrary: allowed(schema, find) },
    { weight: 1, arbitrary: HOSTILE },
  );
}

function allowed(schema: Schema, find: (ref: string) => Schema): Arbitrary<unknown> {
  if (schema.$ref !== undefined) return allowed(find(schema.$ref), find);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const told = schema.examples ?? (schema.example === undefined ? [] : [schema.example]);
  const choices = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  const made = choices
    ? fc.oneof(...choices.map((one) => fromSchema(one, find)))
    : ofType(schema, find);
  return told.length > 0 ? fc.oneof(fc.constantFrom(...told), made) : made;
}

function ofType(schema: Schema, find: (ref: string) => Schema): Arbitrary<unknown> {
  const types = [schema.type ?? []].flat();
  switch (types.find((type) => type !== 'null')) {
    case 'string':
      return ofString(schema);
    case 'integer':
    case 'number': {
      const { minimum = -1_000, maximum = 2 ** 31 } = schema;
      const [min, max] = [Math.ceil(minimum), Math.min(maximum, Number.MAX_SAFE_INTEGER)];
      return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min - 1, min, max, max + 1));
    }
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(fromSchema(schema.items ?? {}, find), {
        minLength: Math.max(0, (schema.minItems ?? 0) - 1),
        maxLength: Math.min(6, (schema.maxItems ?? 5) + 1),
      });
    case 'object':
      return ofObject(schema, find);
    default:
      return HOSTILE;
  }
}

function ofString({ format, minLength = 0, maxLength = 60 }: Schema): Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') {
    return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  }
  const longest = Math.min(maxLength + 1, 600);
  const text = fc.string({ minLength: Math.max(0, minLength - 1), maxLength: longest });
  return fc.oneof(text, fc.constantFrom('TEA-SENCHA', 'https://shop.example/x', '10m', '5'));
}

function ofObject(schema: Schema, find: (ref: string) => Schema): Arbitrary<unknown> {
  const properties = Object.entries(schema.properties ?? {});
  const known = fc.record(
    Object.fromEntries(properties.map(([name, one]) => [name, fromSchema(one, find)])),
    { requiredKeys: [...(schema.required ?? [])] },
  );
  const more = fc.dictionary(fc.constantFrom('extra', '__proto__', 'constructor'), HOSTILE, {
    maxKeys: 1,
  });
  return fc.oneof(
    { weight: 9, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, more).map(([one, other]) => ({ ...one, ...other })) },
  );
}
