import 'reflect-metadata';
import { Logger, type NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { OrdersHttpModule } from './orders-http.module';
import { AsksForBytes } from './sent-bytes';

class Shop {}
const shop = { module: Shop, providers: [AsksForBytes] };

/** What is said while an application starts. */
async function saidBy(start: () => Promise<{ close(): Promise<void> }>): Promise<unknown[]> {
  const error = jest.spyOn(Logger.prototype, 'error').mockImplementation();
  const app = await start();
  await app.close();
  const said = error.mock.calls.map(([text]): unknown => text);
  error.mockRestore();
  return said;
}

const made = async (options: NestApplicationOptions) => {
  const adapter = new FastifyAdapter();
  const app = await NestFactory.create<NestFastifyApplication>(shop, adapter, {
    ...options,
    logger: false,
  });
  return app.init();
};
const tested = async (options: NestApplicationOptions) => {
  const testing = await Test.createTestingModule({ imports: [shop] }).compile();
  return testing.createNestApplication(new FastifyAdapter(), { ...options, logger: false }).init();
};

describe.each([
  ['NestFactory', made],
  ['a testing module', tested],
])('an application of %s that serves webhooks', (_, start) => {
  it('is told at boot where it keeps no bytes of what is sent', async () => {
    expect(await saidBy(() => start({}))).toEqual([
      'Webhooks need the bytes that were sent, and this application keeps none: each is answered with 500. ' +
        'NestFactory.create(App, { rawBody: true }) keeps them, unless a parser of your own does',
    ]);
  });

  it('is told nothing where it does, or has parsers of its own', async () => {
    expect(await saidBy(() => start({ rawBody: true }))).toEqual([]);
    expect(await saidBy(() => start({ bodyParser: false }))).toEqual([]);
  });
});

it('is no application where nothing is served', async () => {
  const start = () => NestFactory.createApplicationContext(shop, { logger: false });
  expect(await saidBy(start)).toEqual([]);
});

describe('OrdersHttpModule', () => {
  const caller = () => null;
  const providersOf = (parts: ['webhooks'] | ['storefront'] | undefined) =>
    OrdersHttpModule.forRoot(parts ? { caller, parts } : { caller }).providers;

  it('asks for bytes where it serves webhooks, and nowhere else', () => {
    expect(providersOf(undefined)).toContain(AsksForBytes);
    expect(providersOf(['webhooks'])).toContain(AsksForBytes);
    expect(providersOf(['storefront'])).not.toContain(AsksForBytes);
  });

  it.each([
    [undefined, '`caller` must be a function that says who called'],
    [{ caller: 'ann' }, '`caller` must be a function that says who called'],
    [{ caller, guards: [] }, 'there is no option "guards"; there are: guard, imports, caller, '],
    [
      { caller, guard: 'session' },
      '`guard` must be a guard: a class, or an object, with canActivate',
    ],
    [{ caller, imports: Shop }, '`imports` must be a list of modules'],
    [{ caller, parts: 'webhooks' }, '`parts` must be a list of storefront, webhooks, ops'],
    [{ caller, parts: ['console'] }, 'there is no part "console"; there are: storefront, webhooks'],
  ])('refuses %j with what is wrong', (given, words) => {
    const make = () => OrdersHttpModule.forRoot(given as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`OrdersHttpModule: ${words}`);
  });
});
