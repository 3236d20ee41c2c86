import { assertOptions, hasMethods, orElse } from '@app/timeout';
import {
  type CanActivate,
  type DynamicModule,
  Module,
  type ModuleMetadata,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { OpsModule } from '../ops/ops.module';
import { CallerGuard, type HostCaller, READ_CALLER, type ReadCaller } from './caller.guard';
import { describeForHosts } from './host-document';
import { OpsOrdersController } from './ops-orders.controller';
import { OpsProductsController } from './ops-products.controller';
import { OpsController } from './ops.controller';
import { OrdersController } from './orders.controller';
import { HttpProblemFilter } from './problem.filter';
import { ProductsController } from './products.controller';
import { AsksForBytes } from './sent-bytes';
import { WebhookEndpointsController } from './webhook-endpoints.controller';
import { WebhooksController } from './webhooks.controller';
import { z } from 'zod';

/** The controllers of each part; what is `open` asks nobody who they are. */
export const HTTP_CONTROLLERS = {
  storefront: { open: [ProductsController], guarded: [OrdersController] },
  webhooks: { open: [WebhooksController], guarded: [] },
  ops: {
    open: [],
    guarded: [
      OpsController,
      OpsOrdersController,
      OpsProductsController,
      WebhookEndpointsController,
    ],
  },
} as const satisfies Record<string, { open: readonly Type[]; guarded: readonly Type[] }>;

export type HttpPart = keyof typeof HTTP_CONTROLLERS;

export interface OrdersHttpOptions<Request> {
  /**
   * The host's own: lets in or refuses, on every route that is not open to all. Left out only where
   * a guard of the whole application does so; that one then has to let in what is open (`Access`).
   */
  readonly guard?: Type<CanActivate> | CanActivate | undefined;
  /** Where the guard's dependencies come from. */
  readonly imports?: ModuleMetadata['imports'] | undefined;
  /** Who called, of a request that the guard has let in; nobody is answered with 401. */
  readonly caller: (
    request: Request,
  ) => HostCaller | null | undefined | Promise<HostCaller | null | undefined>;
  /** What is served; `storefront` and `webhooks` unless given. */
  readonly parts?: readonly HttpPart[] | undefined;
}

const PARTS = Object.keys(HTTP_CONTROLLERS).join(', ');

const OPTIONS = {
  guard: z.custom(
    (value) => typeof value === 'function' || hasMethods(value, ['canActivate']),
    orElse('a guard: a class, or an object, with canActivate'),
  ),
  imports: z.array(z.unknown(), orElse('a list of modules')),
  caller: z.custom(
    (value) => typeof value === 'function',
    orElse('a function that says who called'),
  ),
  parts: z.array(z.string(orElse('a name')), orElse(`a list of ${PARTS}`)),
} satisfies Record<keyof OrdersHttpOptions<unknown>, z.ZodType>;

/**
 * The HTTP routes of orders in a host's own application, on Express or Fastify, beside
 * `OrdersModule`. Webhooks need the bytes that were sent: `NestFactory.create(App, { rawBody: true })`.
 */
@Module({})
export class OrdersHttpModule {
  static forRoot<Request>(options: OrdersHttpOptions<Request>): DynamicModule {
    assertOptions('OrdersHttpModule', OPTIONS, ['caller'], options);
    const { guard, imports = [], caller, parts = ['storefront', 'webhooks'] } = options;
    const unknown = parts.filter((part) => !Object.hasOwn(HTTP_CONTROLLERS, part));
    if (unknown.length > 0) {
      throw new TypeError(
        `OrdersHttpModule: there is no part "${unknown[0]}"; there are: ${PARTS}`,
      );
    }
    const guards = guard ? [guard, CallerGuard] : [CallerGuard];
    const served = [...new Set(parts)].map((part) => HTTP_CONTROLLERS[part]);
    describeForHosts(served.flatMap(({ open, guarded }): Type[] => [...open, ...guarded]));
    return {
      module: OrdersHttpModule,
      imports: [...imports, ...(parts.includes('ops') ? [OpsModule] : [])],
      controllers: served.flatMap(({ open, guarded }) => [
        ...open.map((one) => ownCopy(one, [])),
        ...guarded.map((one) => ownCopy(one, guards)),
      ]),
      providers: [
        { provide: READ_CALLER, useValue: caller as ReadCaller },
        ...(parts.includes('webhooks') ? [AsksForBytes] : []),
      ],
    };
  }
}

/** A class of its own: what is said of it here is not said to others who use the controller. */
function ownCopy(
  controller: Type<object>,
  guards: readonly (Type<CanActivate> | CanActivate)[],
): Type {
  const { [controller.name]: copy } = { [controller.name]: class extends controller {} };
  UseFilters(HttpProblemFilter)(copy as Type);
  if (guards.length > 0) UseGuards(...guards)(copy as Type);
  return copy as Type;
}
