import type { DataSource, MigrationInterface } from 'typeorm';
import type { ZodType } from 'zod';
import type { Clock } from './clock';
import type { TimerAbilities, TimerDriver } from './timer-driver';

/** What an installation gives to a driver's factory. */
export interface TimerDriverContext {
  /** All settings by name, parsed: those the driver needs, and its own. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Names and keys in a store begin with this, where several installations share one. */
  readonly prefix: string;
  readonly onError: (error: Error) => void;
}

export interface TimerDriverParts extends TimerDriverContext {
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  /** Tells where Postgres is, for a driver that keeps its alarms there. */
  readonly dataSource: DataSource;
}

/** The alarms for a tool that shows queues. */
export interface AlarmBoard {
  /** What the tool shows, of the library that the tool is for: one, or one a hash tag of a cluster. */
  readonly queues: readonly object[];
  close(): Promise<void>;
}

/** What somebody who looks after the store of alarms should know. */
export interface TimerFinding {
  /** What was looked at. */
  readonly name: string;
  readonly isFine: boolean;
  readonly detail: string;
  /** What to do about it where it is not fine. */
  readonly fix: string;
}

/**
 * One kind of driver, as the file `<name>.timer.ts` of its folder exports it under the name
 * `timer`. Whatever is large is loaded by `create`: listing the kinds costs nothing.
 */
export interface TimerDriverKind {
  /** The value of `TIMER_DRIVER`. */
  readonly name: string;
  /** Where the alarms are, in a few words. */
  readonly summary: string;
  readonly abilities: TimerAbilities;
  /** Taken when nobody chose, the lowest first, if what it needs is set; never if absent. */
  readonly defaultRank?: number;
  /** Settings that must be set when this driver is chosen. */
  readonly needs: readonly string[];
  /** Settings of its own, by name; each is optional or has a default. */
  readonly settings?: Readonly<Record<string, ZodType>>;
  /** Run by every installation, so that changing the driver is changing a setting. */
  readonly migrations?: readonly (new () => MigrationInterface)[];
  create(parts: TimerDriverParts): Promise<TimerDriver>;
  /** Opens the alarms to look at; absent where no tool shows them. */
  openBoard?(context: TimerDriverContext): AlarmBoard;
  /**
   * Looks closer at the store, for the doctor, and changes nothing. Bounded wait; rejects when the
   * store does not answer. Absent where the doctor looks at Postgres or Redis anyway.
   */
  examine?(context: TimerDriverContext): Promise<readonly TimerFinding[]>;
}
