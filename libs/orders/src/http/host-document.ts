import type { Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { z } from 'zod';
import { idempotencyKey } from '../placing/place-rules';
import { statusOf, type ProblemCode } from './problem';
import { productSku } from './product-requests';
import { ROUTE_FACTS, type RouteAnswer } from './route-facts';

/*
 * What routes say of themselves, where `@nestjs/swagger` looks for it when a host makes its document: of what our
 * decorators read Nest knows nothing, and a path whose parameters are missing is no OpenAPI. It is only written
 * down: a host without that package is spared it.
 */

const PARAMETERS = 'swagger/apiParameters';
const OPERATION = 'swagger/apiOperation';
const RESPONSES = 'swagger/apiResponse';

/** As Nest keeps it, in all of its versions. */
const PATH = 'path';
const METHOD = 'method';

/** Read from the path by decorators of ours. */
const PATH_PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  id: z.string().meta({ format: 'uuid' }),
  sku: productSku,
};

type Parameter = Readonly<Record<string, unknown>> & { readonly in: string };

const reflector = new Reflector();

/** Once for each route, however many modules serve it. */
export function describeForHosts(controllers: readonly Type[]): void {
  for (const { prototype } of controllers) {
    const routes = Object.values(Object.getOwnPropertyDescriptors(prototype as object));
    for (const { value: route } of routes) {
      if (typeof route !== 'function' || !Reflect.hasMetadata(METHOD, route as object)) continue;
      if (!Reflect.hasMetadata(PARAMETERS, route as object)) describe(route as () => unknown);
    }
  }
}

function describe(route: () => unknown): void {
  Reflect.defineMetadata(PARAMETERS, parametersOf(route), route);
  const answer = reflector.get(ROUTE_FACTS.answer, route);
  if (!answer) return;
  Reflect.defineMetadata(OPERATION, { summary: answer.summary }, route);
  Reflect.defineMetadata(RESPONSES, responsesOf(answer), route);
}

function parametersOf(route: () => unknown): Parameter[] {
  const { body, query, idempotencyKey: keyed, ifNoneMatch, webhook } = ROUTE_FACTS;
  const path = String(Reflect.getMetadata(PATH, route));
  const [taken, asked] = [reflector.get(body, route), reflector.get(query, route)];
  const key = reflector.get(keyed, route);
  return [
    ...[...path.matchAll(/:(\w+)/g)].flatMap(([, name = '']) => {
      const schema = PATH_PARAMETERS[name];
      return schema ? [{ name, in: 'path', required: true, schema: schemaOf(schema) }] : [];
    }),
    ...Object.entries(asked?.shape ?? {}).map(([name, one]) => {
      return { name, in: 'query', required: false, schema: schemaOf(one as z.ZodType) };
    }),
    ...(key ? [headerOf('Idempotency-Key', key.required, idempotencyKey)] : []),
    ...(reflector.get(ifNoneMatch, route) ? [headerOf('If-None-Match', false, z.string())] : []),
    ...(taken ? [bodyOf(taken)] : []),
    ...(reflector.get(webhook, route) ? [bodyOf(z.looseObject({}))] : []),
  ];
}

const headerOf = (name: string, required: boolean, schema: z.ZodType): Parameter => ({
  ...{ name, in: 'header', required },
  schema: schemaOf(schema),
});

/** Its `type` is what that package says where a schema stands beside it. */
const bodyOf = (schema: z.ZodType): Parameter => ({
  ...{ in: 'body', type: String, required: !schema.safeParse(undefined).success },
  schema: schemaOf(schema),
});

/** In words that OpenAPI 3.0 has, too, which is what Nest writes unless told otherwise. */
function schemaOf(schema: z.ZodType): object {
  const target = 'openapi-3.0';
  const { $schema: _, ...made } = z.toJSONSchema(schema, { target, io: 'input', override });
  return made;
}

/** One example: of several 3.0 knows nothing. */
function override({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const [example] = jsonSchema.examples ?? [];
  delete jsonSchema.examples;
  if (example !== undefined) jsonSchema.example = example;
}

function responsesOf({ status, summary, refusals = [], also = {} }: RouteAnswer): object {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of refusals) {
    byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code]);
  }
  const refused = [...byStatus].map(([one, codes]) => [one, codes.join(', ')] as const);
  const all: (readonly [string | number, string])[] = [[status, summary], ...Object.entries(also)];
  return Object.fromEntries(
    [...all, ...refused].map(([one, description]) => [one, { description }]),
  );
}
