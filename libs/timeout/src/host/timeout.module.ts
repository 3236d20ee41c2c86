import {
  type DynamicModule,
  type InjectionToken,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { SecondTimeoutModuleError } from '../errors';
import { checkAsyncOptions, checkHandlers, makeOptions } from './check-async-options';
import { checkName, checkOptions } from './check-options';
import type { HandlesDue } from './deadline-handler.decorator';
import { warnOfNobodys } from './find-handlers';
import { bootWitness, witnessToken } from './loaded-at-boot';
import { isObject } from './option-kinds';
import { onlyMadeOnce } from './scoped-options';
import type {
  TimeoutModuleAsyncOptions,
  TimeoutModuleOptions,
  TimeoutOptionsFactory,
} from './timeout-options';
import { openRuntime } from './open-runtime';
import type { TimeoutRuntime } from './timeout-runtime';
import { getTimeoutsToken } from './timeouts';

const RUNTIME = 'LastcallRuntime:';
const runtimeToken = (name: string): string => `${RUNTIME}${name}`;
const optionsToken = (name: string): string => `LastcallOptions:${name}`;

/**
 * Deadlines that commit with your own data. Import it once with `forRoot`; inject `Timeouts` by
 * `@InjectTimeouts()` to arm; mark a provider with `@DeadlineHandler(kind)` to be called.
 */
@Module({})
export class TimeoutModule {
  static forRoot(
    options: TimeoutModuleOptions & { readonly name?: string | undefined },
  ): DynamicModule {
    const { name, ...others } = isObject(options) ? options : ({} as typeof options);
    const useValue = checkOptions(others);
    const of = checkName(name);
    return assemble(of, [{ provide: optionsToken(of), useValue }]);
  }

  static forRootAsync<const Tokens extends readonly InjectionToken[] = readonly []>(
    options: TimeoutModuleAsyncOptions<Tokens>,
  ): DynamicModule {
    checkAsyncOptions(options);
    const name = checkName(options.name);
    return assemble(name, optionsProviders(optionsToken(name), options), options.imports);
  }

  /** Provides handlers; a provider of any other module that is marked as one is found as well. */
  static forFeature(
    handlers: readonly Type<HandlesDue>[],
    { imports = [] }: { readonly imports?: DynamicModule['imports'] } = {},
  ): DynamicModule {
    checkHandlers(handlers);
    return { module: TimeoutHandlersModule, imports: [...imports], providers: [...handlers] };
  }
}

@Module({})
class TimeoutHandlersModule {}

function assemble(
  name: string,
  options: Provider[],
  imports: DynamicModule['imports'] = [],
): DynamicModule {
  const [runtime, timeouts] = [runtimeToken(name), getTimeoutsToken(name)];
  return {
    module: TimeoutModule,
    global: true,
    imports: [DiscoveryModule, bootWitness(witnessToken(name)), ...imports],
    providers: [
      ...options,
      onlyMadeOnce(optionsToken(name), 'TimeoutModule'),
      {
        provide: runtime,
        inject: [optionsToken(name), DiscoveryService],
        useFactory: async (given: TimeoutModuleOptions, discovery: DiscoveryService) => {
          const names = namesOfAll(discovery);
          if (names.filter((one) => one === name).length > 1) {
            throw new SecondTimeoutModuleError(name);
          }
          const opened = await openRuntime(name, given, discovery);
          if (opened.rings && names[0] === name) warnOfNobodys(discovery, names);
          return opened;
        },
      },
      { provide: timeouts, inject: [runtime], useFactory: (one: TimeoutRuntime) => one.timeouts },
    ],
    exports: [timeouts, runtime],
  };
}

/** Of each TimeoutModule in this application. */
function namesOfAll(discovery: DiscoveryService): string[] {
  return discovery.getProviders().flatMap(({ token }) => {
    return typeof token === 'string' && token.startsWith(RUNTIME)
      ? [token.slice(RUNTIME.length)]
      : [];
  });
}

function optionsProviders(
  provide: string,
  options: TimeoutModuleAsyncOptions<readonly InjectionToken[]>,
): Provider[] {
  const { useFactory, useClass, useExisting, inject = [] } = options as Partial<AnyMaker>;
  if (useFactory) return [{ provide, inject: [...inject], useFactory }];
  const madeBy = (factory: Type<TimeoutOptionsFactory>): Provider => ({
    provide,
    inject: [factory],
    useFactory: (made: TimeoutOptionsFactory) => makeOptions(made, factory),
  });
  if (useExisting) return [madeBy(useExisting)];
  const made = useClass as Type<TimeoutOptionsFactory>;
  return [{ provide: made, useClass: made }, madeBy(made)];
}

/** What is undefined there is not given. */
interface AnyMaker {
  readonly inject: readonly InjectionToken[];
  readonly useFactory: (...args: unknown[]) => unknown;
  readonly useClass: Type<TimeoutOptionsFactory>;
  readonly useExisting: Type<TimeoutOptionsFactory>;
}

/** @internal */
export { runtimeToken };
