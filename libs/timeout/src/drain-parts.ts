import type { DataSource } from 'typeorm';
import type { Alarms } from './alarms';
import type { Brake } from './brake';
import type { Clock } from './clock';
import type { Lock } from './lock';
import type { TimeoutTelemetry } from './telemetry';

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
  /** How long others wait for their answers at present, in milliseconds. */
  readonly othersWaitMs: () => number;
  /** What of the kind is due before is left to a sharded sweep, in milliseconds since the epoch. */
  readonly leftToRunMs: (kind: string) => number;
}
