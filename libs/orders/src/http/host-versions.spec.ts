import 'reflect-metadata';
import { type VersioningOptions, VersioningType } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { HTTP_CONTROLLERS } from './orders-http.module';

const controllers = Object.values(HTTP_CONTROLLERS).flatMap(({ open, guarded }) => [
  ...open,
  ...guarded,
]);
const ROUTES = [
  ['GET', '/v1/products'],
  ['GET', '/v1/orders'],
  ['POST', '/v1/webhooks/acme'],
  ['GET', '/v1/ops/overview'],
  ['GET', '/v1/ops/orders'],
  ['GET', '/v1/ops/products'],
  ['GET', '/v1/ops/webhook-endpoints'],
] as const;

/** What is served there, by any controller; what it answers with is nothing of this. */
async function servedIn(versioning: VersioningOptions): Promise<string[]> {
  const module = await Test.createTestingModule({ controllers })
    .useMocker(() => ({}))
    .compile();
  const host = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), {
    logger: false,
  });
  host.enableVersioning(versioning);
  await host.init();
  const answers = await Promise.all(ROUTES.map(([method, url]) => host.inject({ method, url })));
  await host.close();
  return ROUTES.flatMap(([, url], at) => (answers[at]?.statusCode === 404 ? [] : [url]));
}

it.each<[string, VersioningOptions]>([
  ['addresses', { type: VersioningType.URI }],
  ['addresses, with one for the rest', { type: VersioningType.URI, defaultVersion: '2' }],
  ['a header', { type: VersioningType.HEADER, header: 'x-version', defaultVersion: '2' }],
  ['the media type', { type: VersioningType.MEDIA_TYPE, key: 'v=', defaultVersion: '2' }],
])('serves every route as documented in a host that has its versions in %s', async (_, given) => {
  expect(await servedIn(given)).toEqual(ROUTES.map(([, url]) => url));
});

it('knows a route of each controller', () => {
  expect(ROUTES).toHaveLength(controllers.length);
});
