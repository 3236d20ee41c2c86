import { randomBytes } from 'node:crypto';
import type {
  DynamicModule,
  FactoryProvider,
  INestApplicationContext,
  ModuleMetadata,
  Provider,
  Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { isContention } from '../database/database-errors';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';
import { queryRows } from '../database/query-rows';
import { findPlace, type HostPostgres } from './connections';
import type { HandlesDue } from './deadline-handler.decorator';
import type { HostTransaction } from './host-transaction';
import { loggedTelemetry } from './logged-telemetry';
import { type HostTelemetry, soundTelemetry } from './sound-telemetry';
import type { HostDeadline, SubjectRef } from '../deadlines/host-deadline';
import { runtimeToken, TimeoutModule } from './timeout.module';
import type { TimeoutRuntime } from './timeout-runtime';
import type { KnownDeadline, Timeouts } from './timeouts';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** What handlers arm again within the time that passes has its turn, too; not for ever. */
const MOST_SWEEPS = 100;

export interface TimeoutTestingOptions {
  /** A database of tests; a schema of its own is made there, and dropped by `close`. */
  readonly postgres: HostPostgres;
  readonly handlers: readonly Type<HandlesDue>[];
  readonly imports?: ModuleMetadata['imports'] | undefined;
  readonly providers?: ModuleMetadata['providers'] | undefined;
  /** As that of `TimeoutModule`: Nest's logger hears of what fails unless given. */
  readonly telemetry?: HostTelemetry | undefined;
}

/** Deadlines for tests: real tables, real transactions, and time that passes when it is told to. */
export class TimeoutTesting {
  private constructor(
    readonly app: INestApplicationContext,
    private readonly runtime: TimeoutRuntime,
    private readonly admin: DataSource,
    private readonly schema: string,
    private readonly failures: unknown[],
  ) {}

  static async create(options: TimeoutTestingOptions): Promise<TimeoutTesting> {
    const { postgres, handlers, imports = [], providers = [] } = options;
    const failures: unknown[] = [];
    const telemetry = noting(failures, options.telemetry);
    const schema = `lastcall_test_${randomBytes(6).toString('hex')}`;
    const place = await findPlace(postgres, schema);
    const admin = await place.open({ name: 'lastcall testing', connections: 1 });
    const watch = new RuntimeWatch();
    try {
      const timeouts = TimeoutModule.forRoot({ postgres, schema, driver: 'memory', telemetry });
      class Testing {}
      const app = await NestFactory.createApplicationContext(
        {
          module: Testing,
          imports: [watch.over(timeouts), ...imports],
          providers: [...handlers, ...providers],
        },
        { logger: ['error', 'warn'], abortOnError: false },
      );
      const runtime = app.get<TimeoutRuntime>(runtimeToken('default'));
      return new TimeoutTesting(app, runtime, admin, schema, failures);
    } catch (error) {
      const clearAway = async (): Promise<void> => {
        await watch.end();
        await dropSchema(admin, schema);
      };
      // What is to be told is why the application has failed.
      await clearAway().catch(() => undefined);
      throw error;
    }
  }

  get timeouts(): Timeouts {
    return this.runtime.timeouts;
  }

  get<T>(type: Type<T>): T {
    return this.app.get(type, { strict: false });
  }

  /** Arms in a transaction of its own. */
  arm(deadline: HostDeadline): Promise<void> {
    const tx: HostTransaction = {
      query: (sql, params) => queryRows(this.admin, sql, params),
    };
    return this.timeouts.arm(tx, deadline);
  }

  find(subject: SubjectRef): Promise<KnownDeadline | undefined> {
    return this.timeouts.get(subject);
  }

  /**
   * Lets time pass (`14d`, `90m`, or milliseconds): everything that waits comes so much nearer, and
   * what is due then is handled before this resolves. Where a handler throws, it rejects with the first of that
   * once the others are handled; what has failed is tried again a second later, and later each time.
   * @throws {TypeError} for a text that is no duration
   */
  async advance(duration: string | number): Promise<void> {
    this.failures.length = 0;
    const byMs = typeof duration === 'number' ? duration : inMs(duration);
    // Both partitions by their parent: a row that is far and overdue is brought near by the sweep.
    for (const table of ['deadlines', 'timeout_subjects']) {
      await queryRows(
        this.admin,
        `UPDATE ${table} SET due_at = due_at - $1 * interval '1 millisecond'`,
        [byMs],
      );
    }
    this.runtime.service.alarms.forget();
    for (let sweeps = 0; sweeps < MOST_SWEEPS; sweeps++) {
      const { found } = await this.runtime.service.runSweep();
      if (found === 0) break;
    }
    if (this.failures.length > 0) throw this.failures[0];
  }

  async close(): Promise<void> {
    await this.app.close();
    await dropSchema(this.admin, this.schema);
  }
}

/**
 * Nest leaves alone what it has opened, or opens at this moment or a little later, where something else of
 * an application fails.
 */
class RuntimeWatch {
  readonly #opening: Promise<TimeoutRuntime>[] = [];
  #isOver = false;

  /** The same module, whose runtime is closed by {@link end}. */
  over(module: DynamicModule): DynamicModule {
    const { providers = [], ...others } = module;
    return { ...others, providers: providers.map((one) => this.#watched(one)) };
  }

  async end(): Promise<void> {
    this.#isOver = true;
    for (const one of await Promise.allSettled(this.#opening)) {
      if (one.status === 'rejected') continue;
      await one.value.beforeApplicationShutdown();
      await one.value.onApplicationShutdown();
    }
  }

  #watched(provider: Provider): Provider {
    if (!('useFactory' in provider) || provider.provide !== runtimeToken('default'))
      return provider;
    const { useFactory, ...others } = provider as FactoryProvider<TimeoutRuntime>;
    const open = async (...given: unknown[]): Promise<TimeoutRuntime> => {
      if (this.#isOver) throw new Error('The application has failed: nothing is opened any more');
      return useFactory(...given);
    };
    return {
      ...others,
      useFactory: (...given: unknown[]) => {
        const opening = open(...given);
        this.#opening.push(opening);
        return opening;
      },
    };
  }
}

async function dropSchema(admin: DataSource, schema: string): Promise<void> {
  await queryRows(admin, `DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  await admin.destroy();
}

/** The telemetry, which notes what handlers throw: not that somebody holds a row, which passes. */
function noting(failures: unknown[], given: HostTelemetry = loggedTelemetry()): TimeoutTelemetry {
  const telemetry = soundTelemetry(given, silentTelemetry, 'Timeouts');
  return {
    ...telemetry,
    batchFailed: (kind, size, error) => {
      if (!isContention(error)) failures.push(error);
      telemetry.batchFailed(kind, size, error);
    },
    handlerFails: (kind, error) => {
      failures.push(error);
      telemetry.handlerFails(kind, error);
    },
  };
}

function inMs(text: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text.trim());
  if (!match) throw new TypeError(`"${text}" is no duration: write 250ms, 10s, 10m, 2h or 14d`);
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}
