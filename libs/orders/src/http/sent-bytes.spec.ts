import 'reflect-metadata';
import { Controller, Logger, type NestApplicationOptions, Post, UseFilters } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { OrdersHttpModule } from './orders-http.module';
import { SentBytes } from './params';
import { HttpProblemFilter } from './problem.filter';
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

@Controller('webhooks')
@UseFilters(HttpProblemFilter)
class Webhooks {
  @Post()
  receive(@SentBytes() body: Buffer): { bytes: number } {
    return { bytes: body.length };
  }
}

describe('a webhook of a type that nobody keeps the bytes of', () => {
  let app: NestFastifyApplication;
  const send = (type: string, payload: string) =>
    app.inject({ method: 'POST', url: '/webhooks', headers: { 'content-type': type }, payload });
  const start = async (rawBody: boolean): Promise<void> => {
    const testing = await Test.createTestingModule({ controllers: [Webhooks] }).compile();
    app = testing.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { rawBody });
    app.useLogger(false);
    await app.init();
  };
  let error: jest.SpyInstance;
  beforeEach(() => (error = jest.spyOn(Logger.prototype, 'error').mockImplementation()));
  afterEach(async () => {
    await app.close();
    jest.restoreAllMocks();
  });

  it.each([true, false])('is refused, and fills no log, with rawBody %p', async (rawBody) => {
    await start(rawBody);
    const answer = await send('text/plain', 'anything');
    expect(answer.statusCode).toBe(415);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.json()).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect(error).not.toHaveBeenCalled();
  });

  it.each(['application/json', 'application/cloudevents+json; charset=utf-8'])(
    'is our fault where it is %s and the application keeps none',
    async (type) => {
      await start(false);
      app
        .getHttpAdapter()
        .getInstance()
        .addContentTypeParser(
          'application/cloudevents+json',
          { parseAs: 'string' },
          (_r, text, done) => done(null, JSON.parse(String(text))),
        );
      expect((await send(type, '{}')).statusCode).toBe(500);
      expect(error).toHaveBeenCalled();
    },
  );

  it('is taken as it was sent where the application keeps them', async () => {
    await start(true);
    expect((await send('application/json', '{ }')).json()).toEqual({ bytes: 3 });
  });
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
