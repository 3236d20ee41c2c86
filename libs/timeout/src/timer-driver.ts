/** An alarm clock's entry: ring `id` at `at`. The same id armed twice is one alarm. */
export interface Alarm {
  /** Stable for what it stands for; letters, digits and `-` only, never all digits. */
  readonly id: string;
  /** The instant to ring, by the database's clock. */
  readonly at: Date;
}

/**
 * What the driver hears back from a ring: `undefined` when it is done, or the number of
 * milliseconds after which this same alarm wants to ring again (it went off early because this
 * machine's clock is ahead of the database's).
 */
export type RingAnswer = { readonly ringAgainInMs: number } | undefined;

export type OnRing = (alarm: Alarm) => Promise<RingAnswer>;

/** What a driver's store holds at this moment: alarms that ring just now are not among it. */
export interface Survey {
  /** Changes when the store lost its data; then everything must be armed again. */
  readonly generation: string;
  /** Streams the alarms that have not rung, in pages, in no particular order. */
  alarms(): AsyncIterable<Alarm>;
}

/**
 * An alarm clock and nothing more. It knows instants, not what is due at them. A driver may lose
 * alarms and may ring twice; it must never ring more than a clock's error early, and errors of
 * its store reject (nothing is swallowed). Every method may be called from several processes.
 *
 * An alarm is spent the moment its ring begins: from then on its id is unknown, and armed again
 * during that ring it rings once more. A ring is on time within a second of its instant, or of
 * its arming where that came later; what is later costs a sweep's help.
 *
 * `arm`, `disarm` and `survey` work without `start`: a process that only arms need not ring.
 */
export interface TimerDriver {
  readonly name: string;
  /** Begins to ring. An `onRing` that rejects has its alarm kept or dropped, never the process. */
  start(onRing: OnRing): Promise<void>;
  /** Stops ringing, waits for rings under way, closes connections. Safe before `start`, and twice. */
  stop(): Promise<void>;
  /**
   * Adds alarms; ids that are armed and do not ring yet are left as they are. Bounded wait:
   * rejects within 2 s.
   */
  arm(alarms: readonly Alarm[]): Promise<void>;
  /** Removes alarms that have not rung; unknown ids are ignored. */
  disarm(ids: readonly string[]): Promise<void>;
  survey(): Promise<Survey>;
}
