import 'reflect-metadata';
import type { INestApplication } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { OrdersHttpModule } from './orders-http.module';

/** A shop that documents all of its routes by Nest's own means, as its other ones. */
async function documentOfHost(): Promise<OpenAPIObject> {
  const caller = () => null;
  const parts = ['storefront', 'webhooks', 'ops'] as const;
  // Twice, as a test and the application in one process have it.
  OrdersHttpModule.forRoot({ caller, parts });
  const { controllers = [], providers = [] } = OrdersHttpModule.forRoot({ caller, parts });
  const module = await Test.createTestingModule({ controllers, providers })
    .useMocker(() => ({}))
    .compile();
  const host: INestApplication = module.createNestApplication(new FastifyAdapter(), {
    ...{ rawBody: true, logger: false },
  });
  host.setGlobalPrefix('shop');
  await host.init();
  const document = SwaggerModule.createDocument(host, new DocumentBuilder().build());
  await host.close();
  return document;
}

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

const parametersOf = ({ parameters = [] }: Operation): string[] =>
  parameters.map((one) => ('name' in one ? `${one.in}:${one.name}` : ''));

describe("the routes of orders in a host's own OpenAPI document", () => {
  let document: OpenAPIObject;
  beforeAll(async () => {
    document = await documentOfHost();
  });

  it('have each parameter of their paths, once', () => {
    const routes = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.values(item as Record<string, Operation>).map((operation) => ({ path, operation })),
    );
    const wanted = routes.map(({ path, operation }) => ({
      of: operation.operationId,
      inPath: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path:${name}`),
    }));
    expect(routes.length).toBeGreaterThan(20);
    expect(
      routes.map(({ operation }) => ({
        of: operation.operationId,
        inPath: parametersOf(operation).filter((one) => one.startsWith('path:')),
      })),
    ).toEqual(wanted);
  });

  it('say what they take, and how they answer', () => {
    const place = document.paths['/shop/v1/orders']?.post as Operation;
    expect(place.summary).toContain('Place an order');
    expect(parametersOf(place)).toEqual(['header:Idempotency-Key']);
    expect(place.requestBody).toMatchObject({
      required: true,
      content: { 'application/json': { schema: { type: 'object', required: ['items'] } } },
    });
    // A list of examples in a schema is of OpenAPI 3.1: `host-document.ts` speaks 3.0.
    expect(JSON.stringify(document)).not.toContain('"examples"');
    expect(place.responses['201']).toMatchObject({ description: place.summary });
    expect(place.responses['409']).toMatchObject({
      description: expect.stringContaining('out_of_stock') as string,
    });
    const list = document.paths['/shop/v1/orders']?.get as Operation;
    expect(parametersOf(list)).toContain('query:cursor');
  });
});
