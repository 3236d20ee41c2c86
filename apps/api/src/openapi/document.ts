import { productSku } from '@app/orders/http';
import type { INestApplication } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import {
  describeProblems,
  describeRefusals,
  type Operation,
  PROBLEM_EXAMPLES,
  SHARED_HEADERS,
} from './problems';
import { STREAM_TOKEN } from '../auth/stream-access';
import { schemaAt, type SchemaObject, toComponents, toSchemaObject } from './json-schema';
import { RESPONSES } from './responses';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const DESCRIPTION = `Orders that close on time, and money that is never mishandled.

JSON with camelCase names; instants are ISO 8601 in UTC; money is whole minor units of an ISO 4217
currency; ids are UUIDs. Every answer of 400 and above is a problem (RFC 9457) whose \`code\` is
stable. An address that is known, asked with another method, answers 405 with \`Allow\`; one that is not,
as with a slash at its end, 404 \`not_found\`. Whatever is asked for: an address that cannot be read answers
400 \`invalid_request\`, one with a part that is too long 414, and headers of more than 16 kB 431.`;

const TAGS = {
  storefront: 'What a shop asks for its customers: place, pay, cancel, follow.',
  webhooks: 'What payment providers tell.',
  ops: 'For operators and for the machines that watch.',
} as const;

/**
 * Serves the document at /docs-json (for programs) and, unless told otherwise, at /docs (to read):
 * the page comes with a package that Jest cannot load.
 */
export function serveDocument(app: INestApplication, { page = true, front = '/docs' } = {}): void {
  SwaggerModule.setup('docs', app, () => createDocument(app), {
    customSiteTitle: 'lastcall API',
    jsonDocumentUrl: 'docs-json',
    raw: ['json'],
    ui: page,
  });
  if (page) leadTo(front, app);
}

/** Whoever opens the bare address in a browser looks for a page. */
function leadTo(front: string, app: INestApplication): void {
  const fastify = app.getHttpAdapter().getInstance() as FastifyInstance;
  fastify.get('/', (_request, reply) => reply.redirect(front));
}

export function createDocument(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.1')
    .setTitle('lastcall')
    .setDescription(DESCRIPTION)
    .setVersion('1')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    // Relative: the same document serves every installation.
    .addServer('/', 'The installation that serves this document')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' })
    .addApiKey({ type: 'apiKey', in: 'query', name: 'token' }, 'streamToken');
  for (const [name, description] of Object.entries(TAGS)) builder.addTag(name, description);
  const document = SwaggerModule.createDocument(app, builder.build(), {
    operationIdFactory: (controller, method) => `${method}${controller.replace('Controller', '')}`,
  });
  const schemas = toComponents(RESPONSES);
  document.components = { ...document.components, schemas, examples: {}, headers: SHARED_HEADERS };
  const told = new Set<keyof typeof PROBLEM_EXAMPLES>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      describePathParameters(operation, path);
      nameBody(operation, schemas);
      describeAccess(operation);
      for (const code of describeProblems(operation, method)) told.add(code);
    }
  }
  document.components.examples = describeRefusals(told);
  return document;
}

/** Of what an `{id}` in a path is, by the name before it. */
const ID_OF: Readonly<Record<string, string>> = {
  orders: 'order',
  refunds: 'refund',
  'webhook-endpoints': 'webhook endpoint',
};

/** What Nest's document does not know: our decorators that read a parameter from the path. */
const PATH_PARAMETERS: Readonly<Record<string, { description: string; schema: object }>> = {
  sku: { description: 'The SKU of the product', schema: toSchemaObject(productSku, 'input') },
};

const pathParameter = (before: string, name: string) =>
  name === 'id'
    ? {
        description: `The id of the ${ID_OF[before]}`,
        schema: { type: 'string', format: 'uuid' },
      }
    : PATH_PARAMETERS[name];

function describePathParameters(operation: Operation, path: string): void {
  const known = new Set((operation.parameters ?? []).map((one) => ('name' in one ? one.name : '')));
  const missing = [...path.matchAll(/([\w-]+)\/\{(\w+)\}/g)];
  operation.parameters = [
    ...missing.flatMap(([, before = '', name = '']) =>
      known.has(name)
        ? []
        : [{ ...{ name, in: 'path' as const, required: true }, ...pathParameter(before, name) }],
    ),
    ...(operation.parameters ?? []),
  ];
}

/** Gives what an operation takes a name, and moves it to the other schemas. */
function nameBody(operation: Operation, schemas: Record<string, SchemaObject>): void {
  const { operationId = '', requestBody } = operation;
  const media = requestBody && 'content' in requestBody && requestBody.content['application/json'];
  if (!media || !media.schema || '$ref' in media.schema) return;
  const name = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Body`;
  const { examples, ...schema } = media.schema as SchemaObject & { examples?: unknown[] };
  schemas[name] = schema;
  media.schema = { $ref: schemaAt(name) };
  // What "Try it out" sends; one made up of each field's example would be refused.
  if (Array.isArray(examples)) media.example = examples[0] as unknown;
}

/** Who may call it, in words: validators know scopes of OAuth flows only. */
function describeAccess(operation: Operation): void {
  const scopes = operation.security?.flatMap((one) => Object.values(one).flat()) ?? [];
  const alsoByStreamToken = STREAM_TOKEN in operation;
  const named = scopes.map((scope) => `\`${scope}\``).join(' or ');
  operation.description =
    scopes.length > 0
      ? `For a token with the scope ${named}${alsoByStreamToken ? ', or a stream token of this order' : ''}.`
      : 'Open to everybody, token or not.';
  operation.security = [
    ...(scopes.length > 0 ? [{ bearer: [] }] : []),
    ...(alsoByStreamToken ? [{ streamToken: [] }] : []),
  ];
}
