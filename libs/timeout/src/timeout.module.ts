import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import type { DeadlineHandler } from './deadline-handler';
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

const OPTIONS = Symbol('TimeoutModuleOptions');

/** Gives every `@HandlesDeadline` provider to the service, then rings while the application runs. */
@Injectable()
class TimeoutLifecycle implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  #sweeping: Promise<unknown> | undefined;
  #running = false;
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
    this.#running = true;
    this.tick();
  }

  @Interval(1_000)
  tick(): void {
    if (!this.#running || this.#sweeping || !this.timeouts.sweep.isDue(Date.now())) return;
    this.#sweeping = this.timeouts.sweep
      .runOnce()
      .then(() =>
        this.#heartbeat.beat({
          timerStoreHealthy: this.timeouts.sweep.timerStoreHealthy,
          clockOffsetMs: this.options.parts.clock.offsetMs,
        }),
      )
      .catch((error: unknown) => this.#telemetry.failed('sweep', error))
      .finally(() => (this.#sweeping = undefined));
  }

  async beforeApplicationShutdown(): Promise<void> {
    const wasRunning = this.#running;
    this.#running = false;
    await this.#sweeping;
    if (wasRunning) {
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
    inject: readonly (string | symbol | (abstract new (...args: never[]) => unknown))[];
    useFactory: (...args: never[]) => TimeoutModuleOptions | Promise<TimeoutModuleOptions>;
  }): DynamicModule {
    return {
      module: TimeoutModule,
      global: true,
      imports: [DiscoveryModule, ScheduleModule.forRoot()],
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
