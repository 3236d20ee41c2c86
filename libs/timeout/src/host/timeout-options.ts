import type { InjectionToken, ModuleMetadata, Type } from '@nestjs/common';
import type { Lock } from '../lock';
import type { RedisAddress } from '../redis/redis';
import type { TimerDriver } from '../timer-driver';
import type { HostPostgres } from './connections';
import type { HostBrake } from './host-brake';
import type { HostTelemetry } from './sound-telemetry';

/** Everything but `postgres` has a default. */
export interface TimeoutModuleOptions {
  readonly postgres: HostPostgres;
  /** For alarms that ring to the millisecond; without it Postgres is asked for what is due. */
  readonly redis?: RedisAddress | undefined;
  /** The schema of our own tables; `lastcall` unless given. Made when it is not there. */
  readonly schema?: string | undefined;
  /** The name of one that needs nothing or `redis`, or one of the host's own; chosen by what is given unless given. */
  readonly driver?: string | TimerDriver | undefined;
  /**
   * Held around each change of a subject, as `lock:KIND:SUBJECT`: whoever holds that key in the same store keeps the
   * handler from it meanwhile. None unless given: what decides is the transaction.
   */
  readonly lock?: Lock | undefined;
  /** `arm`: this process arms and rings for nobody, and needs no handlers. `ring` unless given. */
  readonly role?: 'ring' | 'arm' | undefined;
  /** False where somebody else migrates, by `migrateTimeouts`. */
  readonly migrate?: boolean | undefined;
  /** How often to look for what alarms have missed or comes near; at most 300,000, and 10,000 unless given. */
  readonly sweepIntervalMs?: number | undefined;
  /**
   * Batches of a kind under way at once, in all processes together, each on its own connection; 1 to 16,
   * as many as this machine has cores unless given, two to eight. As many more go on beside such as hang: at one
   * statement for more than five seconds.
   */
  readonly drainers?: number | undefined;
  /**
   * A handler that makes no statement for so long loses its transaction, in milliseconds: so long a process
   * that stands still holds its rows, and one drainer's turn. From 1,000 to 20,000, and 10,000 unless given.
   */
  readonly standstillLimitMs?: number | undefined;
  /** Stops before much is handled at once while something is wrong, until somebody has looked; off unless given. */
  readonly brake?: HostBrake | undefined;
  /** Where to report, `failed` at the least; Nest's logger hears of what fails unless given. */
  readonly telemetry?: HostTelemetry | undefined;
}

export interface TimeoutOptionsFactory {
  createTimeoutOptions(): TimeoutModuleOptions | Promise<TimeoutModuleOptions>;
}

/** What a token stands for: an instance of a class; anything for a name. */
export type Injected<Token> = Token extends abstract new (...args: never[]) => infer Instance
  ? Instance
  : // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a name says nothing of its type
    any;

export type InjectedAll<Tokens extends readonly InjectionToken[]> = {
  [Index in keyof Tokens]: Injected<Tokens[Index]>;
};

/** What all ways to give options later have. */
export interface TimeoutModuleAsyncBase {
  /** For several in one application: `@InjectTimeouts(name)`. */
  readonly name?: string | undefined;
  readonly imports?: ModuleMetadata['imports'] | undefined;
}

/** The factory is refused where its parameters are not what `inject` names. */
export type TimeoutModuleAsyncOptions<Tokens extends readonly InjectionToken[]> =
  | (TimeoutModuleAsyncBase & {
      readonly inject?: readonly [...Tokens] | undefined;
      readonly useFactory: (
        ...args: InjectedAll<Tokens>
      ) => TimeoutModuleOptions | Promise<TimeoutModuleOptions>;
    })
  | (TimeoutModuleAsyncBase & { readonly useClass: Type<TimeoutOptionsFactory> })
  | (TimeoutModuleAsyncBase & { readonly useExisting: Type<TimeoutOptionsFactory> });
