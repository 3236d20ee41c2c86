import {
  type Config,
  OpsModule,
  OrdersModule,
  type OrdersModuleOptions,
  StrandedWork,
  UnchargeableProducts,
} from '@app/orders';
import { HTTP_CONTROLLERS } from '@app/orders/http';
import {
  type DynamicModule,
  Module,
  type OnModuleInit,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { ThrottlerModule } from '@nestjs/throttler';
import { API_CONFIG } from './api-config';
import { AccessGuard } from './auth/access.guard';
import { Authenticator } from './auth/authenticator';
import { PageAccess } from './auth/page-access';
import { StreamAccess } from './auth/stream-access';
import { Draining } from './draining';
import { Dependencies } from './health/dependencies';
import { HealthController } from './health/health.controller';
import { KnownRoutes } from './http/known-routes';
import { ProblemFilter } from './http/problem.filter';
import { type Logger, loggerProvider } from './logging/logger';
import { MetricsController } from './metrics/metrics.controller';
import { PrometheusTelemetry } from './metrics/prometheus-telemetry';
import { NightlyReconcile } from './nightly-reconcile';
import { AssetsController } from './pages/assets.controller';
import { CheckoutController } from './pages/checkout.controller';
import { CheckoutLinks } from './pages/checkout-links';
import { ConsoleController } from './pages/console.controller';
import { ConsoleWorkController } from './pages/console-work.controller';
import { quickPlacingProvider } from './pages/quick-placing';
import { SampleShopController } from './pages/sample-shop.controller';
import { WebAssets } from './pages/web-assets';
import { patienceProvider } from './patience';
import { QueueBoard } from './queue-board/queue-board';
import { QueueBoardController } from './queue-board/queue-board.controller';
import { RateLimitGuard } from './rate-limit/rate-limit.guard';
import { SharedCounts } from './rate-limit/shared-counts';
import { SecurityLog } from './security-log';
import { describeRoutes } from './openapi/describe-routes';
import { CheckoutLinksController } from './storefront/checkout-links.controller';
import { EventStreams } from './storefront/event-streams';
import { OrderEventsController } from './storefront/order-events.controller';

/** What exists before the Nest application does. */
export interface ProcessParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly telemetry: PrometheusTelemetry;
  readonly draining: Draining;
  readonly routes: KnownRoutes;
  readonly counts: SharedCounts;
  /** Parts of the order module to use instead of the configured ones. */
  readonly orderParts?: OrdersModuleOptions['parts'];
}

/** Every role can be watched; only the role `api` serves customers, providers and operators. */
const WATCHING: Type[] = [HealthController, MetricsController];
const SERVING: Type[] = [
  ...Object.values(HTTP_CONTROLLERS).flatMap(({ open, guarded }) => [...open, ...guarded]),
  OrderEventsController,
  CheckoutLinksController,
  AssetsController,
  CheckoutController,
  ConsoleController,
  ConsoleWorkController,
  QueueBoardController,
];
describeRoutes([...WATCHING, ...SERVING, SampleShopController]);

@Module({})
export class AppModule implements OnModuleInit {
  constructor(
    private readonly stranded: StrandedWork,
    private readonly unchargeable: UnchargeableProducts,
  ) {}

  /** Before anything rings or is served; the CLI, which helps to mend it, starts all the same. */
  async onModuleInit(): Promise<void> {
    await this.stranded.refuse();
    await this.unchargeable.refuse();
  }

  static forRoot(parts: ProcessParts): DynamicModule {
    const { config, logger, telemetry, draining, routes, counts, orderParts } = parts;
    const { RATE_LIMIT: rate, ROLES: roles } = config;
    return {
      module: AppModule,
      imports: [
        OrdersModule.forRoot(config, telemetry, {
          ring: roles.has('worker'),
          ...(orderParts ? { parts: orderParts } : {}),
        }),
        OpsModule,
        ...(roles.has('worker') ? [ScheduleModule.forRoot()] : []),
        ...(rate ? [limitRequests(rate, counts)] : []),
      ],
      controllers: [
        ...WATCHING,
        ...(roles.has('api') ? SERVING : []),
        ...(roles.has('api') && config.SAMPLE_SHOP === 'on' ? [SampleShopController] : []),
      ],
      providers: [
        loggerProvider(logger),
        { provide: API_CONFIG, useValue: config },
        { provide: PrometheusTelemetry, useValue: telemetry },
        { provide: Draining, useValue: draining },
        { provide: KnownRoutes, useValue: routes },
        { provide: SharedCounts, useValue: counts },
        SecurityLog,
        Authenticator,
        PageAccess,
        StreamAccess,
        WebAssets,
        quickPlacingProvider,
        CheckoutLinks,
        Dependencies,
        patienceProvider,
        EventStreams,
        QueueBoard,
        ...(roles.has('worker') ? [NightlyReconcile] : []),
        { provide: APP_FILTER, useClass: ProblemFilter },
        ...guards(rate !== null),
      ],
    };
  }
}

function limitRequests(
  { limit, perMs }: NonNullable<Config['RATE_LIMIT']>,
  counts: SharedCounts,
): DynamicModule {
  return ThrottlerModule.forRoot({
    throttlers: [{ limit, ttl: perMs }],
    storage: counts,
    setHeaders: false,
  });
}

/** They run in this order. */
function guards(isLimited: boolean): Provider[] {
  const access = { provide: APP_GUARD, useClass: AccessGuard };
  return isLimited ? [{ provide: APP_GUARD, useClass: RateLimitGuard }, access] : [access];
}
