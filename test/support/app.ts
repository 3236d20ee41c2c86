import 'reflect-metadata';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Config,
  DATABASE,
  loadConfig,
  type OrdersModuleOptions,
  seedProducts,
} from '@app/orders';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { SignJWT } from 'jose';
import { AppModule } from '../../apps/api/src/app.module';
import { type Api, createParts, listen } from '../../apps/api/src/create-app';
import { createFastifyAdapter } from '../../apps/api/src/http/fastify-adapter';
import { NestLogger } from '../../apps/api/src/logging/nest-logger';
import { serveDocument } from '../../apps/api/src/openapi/document';
import { migrateDatabase } from '../../apps/api/src/migrate-database';
import { type Patience, patienceProvider } from '../../apps/api/src/patience';
import { SharedCounts } from '../../apps/api/src/rate-limit/shared-counts';
import { shutDown } from '../../apps/api/src/shut-down';
import type { DataSource } from 'typeorm';
import { recordAnswers } from '../answers/record-answers';
import { asMigrating, asOwner, type Owner, type TestDatabase } from './database';
import { createMigratedDatabase } from './migrated-database';
import { takeRedisDatabase } from './redis';

export const JWT_SECRET = 'a-secret-for-tests-of-32-characters';
export const WEBHOOK_SECRET = 'whsec_YS13ZWJob29rLXNlY3JldC1mb3ItdGVzdHM=';

export interface TestAppOptions {
  /** Settings beside or instead of those below, as in the environment. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Another lock or timer driver, or keys in Redis of its own. */
  readonly parts?: OrdersModuleOptions['parts'];
  /** Replaces providers: `(module) => module.overrideProvider(X).useValue(y)`. */
  readonly override?: (module: TestingModuleBuilder) => TestingModuleBuilder;
  /** One that somebody else has made and will drop. */
  readonly database?: TestDatabase;
  /** A second process of the same installation: shares its database and Redis. */
  readonly beside?: TestApp;
}

export interface TokenClaims {
  readonly sub?: string;
  /** Default: `orders`. */
  readonly scope?: string;
  /** Seconds from now; default an hour. */
  readonly expiresIn?: number;
}

export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface RequestOptions {
  readonly token?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * The real application on a free port, with a fresh migrated database and a Redis of its own. It
 * connects as the restricted role, as in production.
 */
export interface TestApp extends Api {
  readonly app: NestFastifyApplication;
  readonly config: Config;
  readonly baseUrl: string;
  /** The API's own connections, to look at what it has written. */
  readonly dataSource: DataSource;
  token(claims?: TokenClaims): Promise<string>;
  /** Sends JSON and reads JSON; `path` as in `POST /v1/orders`. */
  request<Body = Record<string, unknown>>(
    path: `${'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'} /${string}`,
    options?: RequestOptions,
  ): Promise<Answer<Body>>;
  /** The same database for whoever migrates. */
  readonly ownerUrl: string;
  /** Rows of one statement on the test's database, as its owner. */
  rows<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** Shuts down as SIGTERM does, and drops the database unless the app was started beside another. */
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** Requests are counted in the middle of a window, of whatever length, that does not end. */
const COUNTED_AT_MS = (Math.floor(Date.now() / HOUR_MS) + 1.5) * HOUR_MS + 30_000;
/** A machine that stands still now and then is not down. */
const MINUTE_MS = 60_000;

/** Defaults of tests: no limit that gets in the way, nothing logged, no folder of this machine. */
const SETTINGS = {
  PORT: '0',
  LASTCALL_HOME: join(tmpdir(), 'lastcall-tests-have-no-home'),
  AUTH_JWT_SECRET: JWT_SECRET,
  SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
  // Nobody is there; at the port that is the default, somebody may be who tries the product out.
  SANDBOX_URL: 'http://127.0.0.1:1',
  RATE_LIMIT: 'off',
  MAX_OPEN_ORDERS: 'off',
  MAX_HELD_UNITS: 'off',
  MAX_HELD_SHARE: 'off',
  MAX_UNPAID_IN_A_ROW: 'off',
  LOG_LEVEL: 'silent',
};

const SEEDED = { seed: true };

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const made = options.beside || options.database ? undefined : await createMigratedDatabase();
  const database = options.database ?? made;
  const ownerUrl = options.beside?.ownerUrl ?? database?.url ?? '';
  const owner = asOwner(ownerUrl);
  const config = loadConfig({
    ...SETTINGS,
    DATABASE_URL: options.beside?.config.DATABASE_URL ?? database?.appUrl,
    REDIS_URL: options.beside?.config.REDIS_URL ?? (await takeRedisDatabase()),
    ...options.settings,
  });
  try {
    if (made) await seedProducts(await owner.dataSource());
    else if (database) await migrateDatabase({ ...config, ...asMigrating(ownerUrl) }, SEEDED);
    const api = await boot(config, options);
    const baseUrl = await listen(api).catch(async (error: unknown) => {
      // What refuses to start has opened its connections, and has no process that ends with it.
      await api.app.close();
      throw error;
    });
    return asTestApp(api, { baseUrl, ownerUrl, owner }, async () => {
      await shutDown(api, 0);
      await owner.close();
      await made?.drop();
    });
  } catch (error) {
    await made?.drop();
    throw error;
  }
}

async function boot(
  config: Config,
  { parts: orderParts, override = (module) => module }: TestAppOptions,
): Promise<Api> {
  const made = createParts(config);
  const pace = { nowMs: () => COUNTED_AT_MS, redisLimitMs: MINUTE_MS };
  const counts = new SharedCounts(config.REDIS_URL, made.telemetry, pace);
  const parts = { ...made, counts, ...(orderParts ? { orderParts } : {}) };
  const module = Test.createTestingModule({ imports: [AppModule.forRoot(parts)] })
    .overrideProvider(patienceProvider.provide)
    .useValue({
      postgresMs: MINUTE_MS,
      redisMs: MINUTE_MS,
      gaugesMs: MINUTE_MS,
    } satisfies Patience);
  const logger = new NestLogger(parts.logger);
  const compiled = await override(module.setLogger(logger)).compile();
  const app = compiled.createNestApplication<NestFastifyApplication>(createFastifyAdapter(parts), {
    bodyParser: false,
    logger,
  });
  recordAnswers(app.getHttpAdapter().getInstance());
  if (config.ROLES.has('api') && config.DOCS === 'on') serveDocument(app, { page: false });
  return { ...parts, app };
}

function asTestApp(
  api: Api,
  { baseUrl, ownerUrl, owner }: Pick<TestApp, 'baseUrl' | 'ownerUrl'> & { owner: Owner },
  close: () => Promise<void>,
): TestApp {
  const dataSource = api.app.get<DataSource>(DATABASE);
  return {
    ...api,
    baseUrl,
    ownerUrl,
    dataSource,
    token,
    request: (path, options) => request(baseUrl, path, options),
    rows: (sql, params) => owner.rows(sql, params),
    close,
  };
}

/** A token as the issuer of tests signs it. */
export function token({ sub = 'ann', scope = 'orders', expiresIn = 3_600 }: TokenClaims = {}) {
  return new SignJWT({ scope })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(sub)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1_000) + expiresIn)
    .sign(new TextEncoder().encode(JWT_SECRET));
}

async function request<Body>(
  baseUrl: string,
  methodAndPath: string,
  { token: bearer, body, headers = {} }: RequestOptions = {},
): Promise<Answer<Body>> {
  const [method, path] = methodAndPath.split(' ', 2) as [string, string];
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    body: (isJson && text ? JSON.parse(text) : text) as Body,
  };
}
