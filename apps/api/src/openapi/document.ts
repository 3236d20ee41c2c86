import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { problem, PROBLEM_TYPE, type ProblemCode, statusOf } from '../http/problem';
import { REFUSALS } from './answers';
import { toSchemaObject } from './json-schema';
import { RESPONSES } from './responses';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/**
 * Serves the document at /docs-json (for programs) and, unless told otherwise, at /docs (to read):
 * the page comes with a package that Jest cannot load.
 */
export function serveDocument(app: INestApplication, { page = true } = {}): void {
  SwaggerModule.setup('docs', app, () => createDocument(app), {
    customSiteTitle: 'lastcall API',
    jsonDocumentUrl: 'docs-json',
    raw: ['json'],
    ui: page,
  });
}

export function createDocument(app: INestApplication): OpenAPIObject {
  const words = new DocumentBuilder()
    .setTitle('lastcall')
    .setDescription('Orders that close on time, and money that is never mishandled.')
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' })
    .build();
  const document = SwaggerModule.createDocument(app, words, {
    operationIdFactory: (controller, method) => `${method}${controller.replace('Controller', '')}`,
  });
  document.components ??= {};
  document.components.schemas = Object.fromEntries(
    Object.entries(RESPONSES).map(([name, schema]) => [name, toSchemaObject(schema, 'output')]),
  );
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (!operation) continue;
      describeProblems(operation, method);
      describeOrderId(operation, path);
    }
  }
  return document;
}

/** Our decorator that reads the id from the path is not one that Nest's document knows. */
function describeOrderId(operation: Operation, path: string): void {
  if (!path.includes('{id}')) return;
  operation.parameters ??= [];
  operation.parameters.unshift({
    name: 'id',
    in: 'path',
    required: true,
    description: 'The id of the order',
    schema: { type: 'string', format: 'uuid' },
  });
}

/** One answer a status, with an example for each code that has it. */
function describeProblems(operation: Operation, method: (typeof METHODS)[number]): void {
  const own = (operation as { [REFUSALS]?: ProblemCode[] })[REFUSALS] ?? [];
  // Even where no body is wanted: one with fields in it is refused.
  const takesInput = method !== 'get' || (operation.parameters ?? []).length > 0;
  const codes = new Set<ProblemCode>([
    ...own,
    ...(takesInput ? (['invalid_request'] as const) : []),
    ...(operation.security ? (['unauthorized', 'forbidden', 'rate_limited'] as const) : []),
    'internal_error',
    'unavailable',
  ]);
  for (const status of new Set([...codes].map(statusOf))) {
    const those = [...codes].filter((code) => statusOf(code) === status);
    operation.responses[String(status)] = {
      description: those.join(', '),
      content: {
        [PROBLEM_TYPE]: {
          schema: { $ref: '#/components/schemas/Problem' },
          examples: Object.fromEntries(
            those.map((code) => [
              code,
              { value: problem(code, 'What is wrong, and how to mend it') },
            ]),
          ),
        },
      },
    };
  }
}
