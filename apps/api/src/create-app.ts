import type { Config } from '@app/orders';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { isIPv6 } from 'node:net';
import { AppModule, type ProcessParts } from './app.module';
import { Draining } from './draining';
import { createFastifyAdapter } from './http/fastify-adapter';
import { KnownRoutes } from './http/known-routes';
import { createLogger } from './logging/logger';
import { NestLogger } from './logging/nest-logger';
import { PrometheusTelemetry } from './metrics/prometheus-telemetry';
import { serveDocument } from './openapi/document';
import { SharedCounts } from './rate-limit/shared-counts';

export interface Api extends ProcessParts {
  readonly app: NestFastifyApplication;
}

export function createParts(config: Config): ProcessParts {
  const logger = createLogger(config.LOG_LEVEL);
  const telemetry = new PrometheusTelemetry(logger, config.SWEEP_INTERVAL);
  return {
    config,
    logger,
    telemetry,
    counts: new SharedCounts(config.REDIS_URL, telemetry),
    draining: new Draining(),
    routes: new KnownRoutes(),
  };
}

/** The whole application, not listening yet. */
export async function createApi(config: Config): Promise<Api> {
  const parts = createParts(config);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(parts),
    createFastifyAdapter(parts),
    { logger: new NestLogger(parts.logger), bodyParser: false, abortOnError: false },
  );
  if (config.ROLES.has('api') && config.DOCS === 'on') {
    serveDocument(app, { front: config.SAMPLE_SHOP === 'on' ? '/shop' : '/docs' });
  }
  return { ...parts, app };
}

/** Begins to serve; answers with the address, as PORT 0 picks a free one. */
export async function listen({ app, config }: Api): Promise<string> {
  await app.listen(config.PORT, config.HOST);
  const address = app.getHttpServer().address();
  const port = typeof address === 'object' && address ? address.port : config.PORT;
  return `http://${isIPv6(config.HOST) ? `[${config.HOST}]` : config.HOST}:${port}`;
}
