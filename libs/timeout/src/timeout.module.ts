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
import type { DeadlineHandler } from './deadline-handler';
import { every, type Turns } from './every';
import type { TimeoutTelemetry } from './telemetry';
import { TimeoutService, type TimeoutOptions, type TimeoutParts } from './timeout.service';
import { WorkerHeartbeat } from './worker-heartbeat';

/** Marks a provider as the one handler for deadlines of a kind. */
export const HandlesDeadline = DiscoveryService.createDecorator<string>();

export interface TimeoutModuleOptions extends TimeoutOptions {
  readonly parts: TimeoutParts;
  /** False in a process that only arms (the API role, the CLI). */
  readonly ring: boolean;
}

/** How often to look whether a sweep is due: in trouble it is every second. */
const SWEEP_LOOK_MS = 1_000;
/** How often to look for what is late: so much later may be what has lost its alarm. */
const MISSED_LOOK_MS = 250;

const OPTIONS = Symbol('TimeoutModuleOptions');

/** Gives every `@HandlesDeadline` provider to the service, then rings while the application runs. */
@Injectable()
class TimeoutLifecycle implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  #sweeping: readonly Turns[] = [];
  readonly #telemetry: TimeoutTelemetry;
  readonly #heartbeat: WorkerHeartbeat;

  constructor(
    private readonly timeouts: TimeoutService,
    private readonly discovery: DiscoveryService,
    @Inject(OPTIONS) private readonly options: TimeoutModuleOptions,
  ) {
    this.#telemetry = options.parts.telemetry;
    const { dataSource } = options.parts;
    this.#heartbeat = new WorkerHeartbeat(dataSource, options.sweep.intervalMs);
  }

  async onModuleInit(): Promise<void> {
    for (const provider of this.discovery.getProviders({ metadataKey: HandlesDeadline.KEY })) {
      const kind = this.discovery.getMetadataByDecorator(HandlesDeadline, provider);
      if (kind !== undefined) this.timeouts.handle(kind, provider.instance as DeadlineHandler);
    }
    // Who only arms rings for nobody, and needs no handlers.
    if (this.options.ring) await this.timeouts.assertAllHandled();
  }

  async onApplicationBootstrap(): Promise<void> {
    if (!this.options.ring) return;
    await this.timeouts.start();
    const onError = (error: unknown): void => this.#telemetry.failed('sweep', error);
    this.#sweeping = [
      every(SWEEP_LOOK_MS, () => this.#sweepIfDue(), { firstAfterMs: 0, onError }),
      // In turns of their own: a sweep may wait for a store that is silent.
      every(MISSED_LOOK_MS, () => this.timeouts.sweep.takeMissed(), { onError }),
    ];
  }

  async #sweepIfDue(): Promise<void> {
    const { sweep } = this.timeouts;
    if (!sweep.isDue(performance.now())) return;
    await sweep.begin();
    await this.#heartbeat.beat({
      timerStoreHealthy: sweep.timerStoreHealthy,
      clockOffsetMs: this.options.parts.clock.offsetMs,
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.#sweeping.length > 0) {
      await Promise.all(this.#sweeping.map((turns) => turns.stop()));
      const end = this.#heartbeat.end();
      await end.catch((error: unknown) => this.#telemetry.failed('heartbeat', error));
    }
    await this.timeouts.stop();
  }
}

/** Deadlines, alarms and the sweep as a Nest module. See README, "Using libs/timeout alone". */
@Module({})
export class TimeoutModule {
  static forRootAsync(options: {
    imports?: ModuleMetadata['imports'];
    inject: readonly (string | symbol | (abstract new (...args: never[]) => unknown))[];
    useFactory: (...args: never[]) => TimeoutModuleOptions | Promise<TimeoutModuleOptions>;
  }): DynamicModule {
    return {
      module: TimeoutModule,
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
          useFactory: (given: TimeoutModuleOptions) => new TimeoutService(given.parts, given),
        },
        TimeoutLifecycle,
      ],
      exports: [TimeoutService],
    };
  }
}
