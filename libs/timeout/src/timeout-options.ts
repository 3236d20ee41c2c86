import type { DataSource } from 'typeorm';
import type { BrakeOptions } from './brake/brake';
import type { DatabaseClock } from './database/database-clock';
import type { DrainOptions } from './draining/drain-options';
import type { Lock } from './lock';
import type { Granularity } from './slots';
import type { SweepOptions } from './sweeping/sweep';
import type { TimeoutTelemetry } from './telemetry';
import type { TimerDriver } from './timer-driver';

export interface TimeoutOptions {
  /** Every kind of deadline there is; each must get exactly one handler before `start`. */
  readonly kinds: readonly string[];
  readonly granularity: Granularity;
  readonly horizonMs: number;
  readonly sweep: SweepOptions;
  readonly drain?: Partial<DrainOptions>;
  /** When to stop by themselves; never if absent. */
  readonly brake?: BrakeOptions;
  /**
   * How long others wait for their answers at present, in milliseconds: a drain that is late
   * already gives way to them for a while. Asked twice a second at most, and in bursts only.
   */
  readonly othersWaitMs?: () => Promise<number>;
  /** True for a driver that a host has made: one that cannot start is tried again, and ends no start. */
  readonly isDriverOfHost?: boolean;
  /** False in a process that only arms; true unless given. */
  readonly ring?: boolean;
}

export interface TimeoutParts {
  readonly driver: TimerDriver;
  readonly lock: Lock;
  /** For arming in the caller's transaction, and in a process that does not ring for small reads. */
  readonly dataSource: DataSource;
  /**
   * For claiming and handling, the heartbeat, and to find what has to be armed; a small pool of its own,
   * with `drainConnections`. Set `idle_in_transaction_session_timeout`: so long a process that stands still keeps its turn.
   */
  readonly drainDataSource: DataSource;
  readonly clock: DatabaseClock;
  readonly telemetry: TimeoutTelemetry;
}
