import {
  type Due,
  findPlace,
  type HostPostgres,
  type InjectedAll,
  migratePlace,
  onceBack,
} from '@app/timeout';
import {
  HostDeadlineHandler,
  type HostTx,
  onlyMadeOnce,
  runtimeToken,
  type TimeoutRuntime,
} from '@app/timeout/module';
import {
  type DynamicModule,
  Inject,
  type InjectionToken,
  Module,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { CloseTargets1763930000000 } from '../migrations/1763930000000-close-targets';
import {
  CloseTargetExits1763960000000,
  TargetOrdersClosing1763960001000,
  TargetRefundsOpen1763960002000,
  TargetWebhooksHeld1763960003000,
} from '../migrations/1763960000000-close-target-exits';
import { CloseTargetTwice1764032000000 } from '../migrations/1764032000000-close-target-twice';
import { CloseTargetIds1764120000000 } from '../migrations/1764120000000-close-target-ids';
import { ForgetCloseTargetWebhooks1764121000000 } from '../migrations/1764121000000-forget-close-target-webhooks';
import { CloseTargetUnanswered1764133000000 } from '../migrations/1764133000000-close-target-unanswered';
import { hostTelemetry } from '../order/host-telemetry';
import { guardProviders } from '../providers/create-providers';
import { CheckedTarget } from './checked-target';
import { assertKindsApart, type ClosesOrders, closeTargetOptions } from './close-target';
import { CloseTargets } from './close-targets';
import {
  checkGivenTargets,
  checkTargetOptions,
  type CloseTargetModuleOptions,
} from './target-options';
import { assertTargetTables } from './missing-target-tables';
import { TargetClosing } from './target-closing';
import { handlersOf } from './target-handlers';
import { TargetMoney } from './target-money';
import { TargetOrders } from './target-orders';
import { REFUND_KIND, TARGET_PARTS, type TargetParts, WEBHOOK_KIND } from './target-parts';
import { TargetPayments } from './target-payments';
import { TargetRefunds } from './target-refunds';
import { TargetRetention } from './target-retention';
import { TargetSettling } from './target-settling';
import { TargetWebhooks } from './target-webhooks';

export interface CloseTargetsGiven {
  /** Classes marked with `@CloseTarget`. */
  readonly targets: readonly [Type<ClosesOrders>, ...Type<ClosesOrders>[]];
  /** The name given to `TimeoutModule.forRoot`, if any. */
  readonly timeouts?: string | undefined;
  /** Modules with what targets and factory inject. */
  readonly imports?: ModuleMetadata['imports'] | undefined;
}

export interface CloseTargetModuleAsyncOptions<
  Tokens extends readonly InjectionToken[],
> extends CloseTargetsGiven {
  readonly inject?: readonly [...Tokens] | undefined;
  readonly useFactory: (
    ...args: InjectedAll<Tokens>
  ) => CloseTargetModuleOptions | Promise<CloseTargetModuleOptions>;
}

const MIGRATIONS = [
  CloseTargets1763930000000,
  CloseTargetExits1763960000000,
  TargetOrdersClosing1763960001000,
  TargetRefundsOpen1763960002000,
  TargetWebhooksHeld1763960003000,
  CloseTargetTwice1764032000000,
  CloseTargetIds1764120000000,
  ForgetCloseTargetWebhooks1764121000000,
  CloseTargetUnanswered1764133000000,
];

/** Injection token of the options. */
const OPTIONS = Symbol('CloseTargetOptions');

/**
 * Closes the orders of a shop's own tables: fence, the provider's word before a close, late money and
 * refunds. Import it beside `TimeoutModule.forRoot`, by which the deadlines are armed; its tables are
 * in that one's schema.
 */
@Module({})
export class CloseTargetModule {
  static forRoot(given: CloseTargetModuleOptions & CloseTargetsGiven) {
    const { targets, timeouts, imports, ...options } = Object(given) as typeof given;
    return CloseTargetModule.forRootAsync({
      targets,
      ...(timeouts === undefined ? {} : { timeouts }),
      ...(imports === undefined ? {} : { imports }),
      useFactory: () => options,
    });
  }

  static forRootAsync<const Tokens extends readonly InjectionToken[] = readonly []>(
    given: CloseTargetModuleAsyncOptions<Tokens>,
  ): DynamicModule {
    checkGivenTargets(given);
    const { targets, timeouts, imports = [], inject, useFactory } = given;
    assertKindsApart(targets);
    const make = useFactory as (...args: unknown[]) => CloseTargetModuleOptions;
    return {
      module: CloseTargetModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        ...targets,
        ...[OPTIONS, TARGET_PARTS].map((made) => onlyMadeOnce(made, 'CloseTargetModule')),
        { provide: OPTIONS, inject: [...(inject ?? [])], useFactory: make },
        {
          provide: TARGET_PARTS,
          inject: [
            { token: runtimeToken(timeouts ?? 'default'), optional: true },
            OPTIONS,
            ...targets,
          ],
          useFactory: (
            runtime: TimeoutRuntime | undefined,
            options: CloseTargetModuleOptions,
            ...instances: ClosesOrders[]
          ) => {
            checkTargetOptions(options);
            if (!runtime) throw noTimeouts(timeouts);
            return partsOf(runtime, options, targets, instances);
          },
        },
        ...[
          TargetClosing,
          TargetMoney,
          TargetSettling,
          TargetRefunds,
          TargetRetention,
          TargetWebhooks,
        ],
        ...targets.flatMap((target) => handlersOf(closeTargetOptions(target), timeouts)),
        ...ownHandlers(timeouts),
        CloseTargets,
      ],
      exports: [CloseTargets, ...targets],
    };
  }
}

const noTimeouts = (name?: string): Error =>
  new Error(
    'CloseTargetModule needs ' +
      (name === undefined
        ? 'TimeoutModule.forRoot'
        : `TimeoutModule.forRoot({ name: "${name}", ... })`) +
      ' in the same application: by that its deadlines are armed, and its tables are there',
  );

async function partsOf(
  runtime: TimeoutRuntime,
  { payments, latePayment = 'refund', ...options }: CloseTargetModuleOptions,
  classes: readonly Type<ClosesOrders>[],
  instances: readonly ClosesOrders[],
): Promise<TargetParts> {
  runtime.assertNotStarted('CloseTargetModule');
  await runtime.addTables(MIGRATIONS);
  await assertTargetTables(runtime);
  const telemetry = hostTelemetry(options.telemetry);
  const targets = new Map(
    classes.map((target, index) => {
      const { kind } = closeTargetOptions(target);
      return [kind, new CheckedTarget(kind, instances[index] as ClosesOrders)];
    }),
  );
  return {
    runtime,
    timeouts: runtime.timeouts,
    targets,
    orders: new TargetOrders(runtime.schema),
    payments: new TargetPayments(runtime.schema, targets),
    providers: guardProviders(payments, telemetry, {}),
    telemetry,
    latePayment,
  };
}

/** What all targets share: what providers have told, and money that goes back. */
function ownHandlers(timeouts?: string): Type[] {
  const options = { maxBatch: 200, ...(timeouts === undefined ? {} : { timeouts }) };

  @HostDeadlineHandler(WEBHOOK_KIND, options)
  class ApplyWebhooks {
    constructor(@Inject(TargetWebhooks) private readonly webhooks: TargetWebhooks) {}
    handle(due: readonly Due[], tx: HostTx): Promise<{ changed: number }> {
      return this.webhooks.handle(due, tx);
    }
  }

  @HostDeadlineHandler(REFUND_KIND, options)
  class RunRefunds {
    constructor(@Inject(TargetRefunds) private readonly refunds: TargetRefunds) {}
    handle(due: readonly Due[], tx: HostTx): Promise<{ changed: number }> {
      return this.refunds.handle(due, tx);
    }
  }

  return [ApplyWebhooks, RunRefunds];
}

/**
 * Makes the tables of deadlines and of close targets, or brings them up to date: for a step of the
 * deployment, where the application itself may not (`migrate: false`). Safe to repeat. Returns the
 * names of the migrations that were run now.
 */
export async function migrateCloseTargets({
  postgres,
  schema = 'lastcall',
}: {
  readonly postgres: HostPostgres;
  readonly schema?: string | undefined;
}): Promise<string[]> {
  return migratePlace(await onceBack(() => findPlace(postgres, schema)), MIGRATIONS);
}
