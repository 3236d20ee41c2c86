import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import type { DeadlineHandler } from './deadlines/deadline-handler';
import { ScopedDeadlineHandlerError } from './errors';
import { isSingleton } from './host/as-provider';
import { TimeoutRun } from './timeout-run';
import type { TimeoutOptions, TimeoutParts } from './timeout-options';
import { TimeoutService } from './timeout.service';

/** Marks a provider as the one handler for deadlines of a kind. */
export const HandlesDeadline = DiscoveryService.createDecorator<string>();

export interface TimeoutCoreOptions extends TimeoutOptions {
  readonly parts: TimeoutParts;
  /** False in a process that only arms (the API role, the CLI). */
  readonly ring: boolean;
}

const OPTIONS = Symbol('TimeoutCoreOptions');

/** Gives every `@HandlesDeadline` provider to the service, then rings while the application runs. */
@Injectable()
class TimeoutLifecycle implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #run: TimeoutRun;

  constructor(
    private readonly timeouts: TimeoutService,
    private readonly discovery: DiscoveryService,
    @Inject(OPTIONS) private readonly options: TimeoutCoreOptions,
  ) {
    this.#run = new TimeoutRun(timeouts, options);
  }

  async onModuleInit(): Promise<void> {
    for (const provider of this.discovery.getProviders({ metadataKey: HandlesDeadline.KEY })) {
      const kind = this.discovery.getMetadataByDecorator(HandlesDeadline, provider);
      if (kind === undefined) continue;
      if (!isSingleton(provider)) throw new ScopedDeadlineHandlerError(kind);
      this.timeouts.handle(kind, provider.instance as DeadlineHandler);
    }
    // Who only arms rings for nobody, and needs no handlers.
    if (this.options.ring) await this.timeouts.assertAllHandled();
  }

  onApplicationBootstrap(): Promise<void> {
    return this.#run.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#run.stop();
  }
}

/** Deadlines, alarms and the sweep, set up part by part; a host has `TimeoutModule` (host/timeout.module.ts). */
@Module({})
export class TimeoutCoreModule {
  static forRootAsync(options: {
    imports?: ModuleMetadata['imports'];
    inject: readonly (string | symbol | (abstract new (...args: never[]) => unknown))[];
    useFactory: (...args: never[]) => TimeoutCoreOptions | Promise<TimeoutCoreOptions>;
  }): DynamicModule {
    return {
      module: TimeoutCoreModule,
      global: true,
      imports: [DiscoveryModule, ...(options.imports ?? [])],
      providers: [
        {
          provide: OPTIONS,
          inject: [...options.inject] as never[],
          useFactory: options.useFactory,
        },
        {
          provide: TimeoutService,
          inject: [OPTIONS],
          useFactory: (given: TimeoutCoreOptions) => new TimeoutService(given.parts, given),
        },
        TimeoutLifecycle,
      ],
      exports: [TimeoutService],
    };
  }
}
