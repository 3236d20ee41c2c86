import type { DataSource } from 'typeorm';
import type { Alarms } from '../alarms/alarms';
import type { Brake } from '../brake/brake';
import type { Clock } from '../clock';
import type { DrainCounts } from './drain-counts';
import type { FurtherDrainers } from './further-drainers';
import type { KindHealth } from './kind-health';
import type { Lock } from '../lock';
import type { LowWater } from '../deadlines/low-water';
import type { Pace } from './pace';
import type { DeadlineRange } from '../deadlines/deadline-range';
import type { SlotWatch } from './slot-watch';
import type { TimeoutTelemetry } from '../telemetry';
import type { Transaction } from '../database/transaction';

/** What a drain works with. */
export interface DrainParts {
  /** A pool of its own, so that a burst of closing cannot starve the API. */
  readonly dataSource: DataSource;
  readonly lock: Lock;
  readonly alarms: Alarms;
  readonly brake: Brake;
  /** The database's clock, for when to look again. */
  readonly clock: Clock;
  readonly telemetry: TimeoutTelemetry;
  /** Of all kinds together. */
  readonly further: FurtherDrainers;
  /** How long others wait for their answers at present, in milliseconds. */
  readonly othersWaitMs: () => number;
  /** What of the kind is due before is left to a sharded sweep, in milliseconds since the epoch. */
  readonly leftToRunMs: (kind: string) => number;
}

/** What a kind's drain knows of itself. */
export interface DrainOwn {
  readonly pace: Pace;
  readonly health: KindHealth;
  readonly lowWater: LowWater;
  readonly watch: SlotWatch;
  /** How many all processes may have at once. */
  readonly drainers: number;
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
  /** A handler that is silent for longer is not waited for. */
  readonly answerLimitMs: number;
}

/** A shard of a sweep, as its batches go about it. */
export interface ShardWork {
  /** The sweep's: its shards are one backlog. */
  readonly runId: string;
  readonly range: DeadlineRange;
  readonly lowWater: LowWater;
  /** No batch begins any more once it is aborted. */
  readonly signal: AbortSignal;
  /** Keeps what a batch did, and how overdue the oldest was, in the batch's transaction. */
  keep(tx: Transaction, counts: DrainCounts, oldestLagMs: number): Promise<void>;
}
