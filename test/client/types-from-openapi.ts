import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Makes the types of libs/client from the OpenAPI document of a running API. */

export const TYPES_FILE = join(__dirname, '../../libs/client/src/api.ts');

interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
}

interface Document {
  paths: Record<string, Record<string, { tags?: string[] }>>;
  components: { schemas: Record<string, Schema> };
}

const HEAD = `/*
 * What the storefront's routes take and answer. Made from the API's OpenAPI document by
 * \`npm run client:types\`; test/client/client.e2e.ts compares it with the document that is served.
 */`;
/** Answers of these are not JSON for a caller to read. */
const LEFT_OUT = new Set(['OrderEventStream']);
/** Not in an answer, but in the events of a stream. */
const ALSO = ['OrderEvent'];

/** The source of every type that a route with this tag takes or answers with. */
export function typesOf(document: unknown, tag: string): string {
  const { paths, components } = document as Document;
  const operations = Object.values(paths).flatMap((item) => Object.values(item));
  const names = new Set(ALSO);
  for (const operation of operations.filter(({ tags }) => tags?.includes(tag))) {
    for (const name of namesIn(operation)) names.add(name);
  }
  // A set that grows is walked to its new end.
  for (const name of names) {
    for (const inner of namesIn(components.schemas[name])) names.add(inner);
  }
  const kept = [...names].filter((name) => !LEFT_OUT.has(name)).sort();
  const types = kept.map((name) => declare(name, components.schemas[name] as Schema));
  const source = [HEAD, ...types].join('\n\n');
  // A process of its own: Jest cannot load it.
  const args = [require.resolve('prettier/bin/prettier.cjs'), '--stdin-filepath', TYPES_FILE];
  return execFileSync(process.execPath, args, { input: source, encoding: 'utf8' });
}

const namesIn = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name ?? '',
  );

function declare(name: string, schema: Schema): string {
  const isInterface = schema.properties !== undefined;
  const words = schema.description ? `/** ${schema.description} */\n` : '';
  const keyword = isInterface ? `interface ${name}` : `type ${name} =`;
  return `${words}export ${keyword} ${typeOf(schema)}`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) as string;
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ');
  }
  if (schema.type === 'array') return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (schema.type === 'object') return objectOf(schema);
  if (schema.type === 'integer') return 'number';
  if (schema.type === undefined) return 'unknown';
  return schema.type;
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const words = schema.description ? `/** ${schema.description} */\n` : '';
    return `${words}readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`;
  });
  if (typeof additionalProperties === 'object') {
    fields.push(`readonly [name: string]: ${typeOf(additionalProperties)};`);
  }
  return `{\n${fields.join('\n')}\n}`;
}
