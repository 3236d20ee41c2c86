/** An alarm clock's entry: ring `id` at `at`. The same id armed twice is one alarm. */
export interface Alarm {
  /** Stable for what it stands for; letters, digits and `-` only, never all digits. */
  readonly id: string;
  /** The instant to ring, by the database's clock. */
  readonly at: Date;
}

/** An alarm of the ring that went off early: this machine's clock is ahead of the database's. */
export interface RingAgain {
  readonly id: string;
  readonly inMs: number;
}

/** Those of the ring that want to ring again; the others are done. */
export type RingAnswer = readonly RingAgain[] | undefined;

/** Hears the alarms that go off at the same time together: one or more. */
export type OnRing = (alarms: readonly Alarm[]) => Promise<RingAnswer>;

/** What a driver's store holds at this moment: alarms that ring just now are not among it. */
export interface Survey {
  /**
   * Changes when the store lost its data; then everything must be armed again. Never for a driver
   * that does not notice it: then only what rings soon is armed again, as it comes near.
   */
  readonly generation: string;
  /**
   * Streams the alarms that have not rung, in pages, in no particular order. Rejects for a driver
   * that does not survey: its store cannot be looked into.
   */
  alarms(): AsyncIterable<Alarm>;
}

/** What can be relied on. The contract asks of each driver what it claims here. */
export interface TimerAbilities {
  /**
   * `shared`: every process arms into the same store, and any of those that ring hears it.
   * `process`: alarms ring in the process that armed them; so only those that ring arm, and they
   * read from Postgres what the others have placed.
   */
  readonly scope: 'process' | 'shared';
  /** Alarms outlast the process that armed them, also when it is killed. */
  readonly durable: boolean;
  /** An id that is armed already is left as it is; otherwise it may ring once for each arming. */
  readonly dedupes: boolean;
  /** Alarms can be taken back; otherwise `disarm` does nothing and they ring for nothing. */
  readonly disarms: boolean;
  /** What is armed can be listed. */
  readonly surveys: boolean;
  /** Its generation changes when the store has lost everything; otherwise nobody can tell. */
  readonly noticesLoss: boolean;
  /** On a machine at rest alarms ring within so long of their instant. */
  readonly precisionMs: number;
}

/**
 * An alarm clock and nothing more. It knows instants, not what is due at them. A driver may lose
 * alarms and may ring twice; it must never ring more than a clock's error early, and errors of
 * its store reject (nothing is swallowed). Every method may be called from several processes.
 *
 * An alarm is spent the moment its ring begins: from then on its id is unknown, and armed again
 * during that ring it rings once more. A ring is on time within `precisionMs` and a second of its
 * instant, or of its arming where that came later; what is later costs a sweep's help.
 *
 * `arm`, `disarm` and `survey` work without `start`: a process that only arms need not ring.
 * One of them that has not answered within 15 s is given up, and its store is unhealthy until it answers; `arm`,
 * which is asked with 250 alarms at the most as a process rings or places, is asked with one at a time until then.
 * `start` ought not to wait for its store, as it may be away. One that has not come to its end within 15 s is gone on
 * without, and one of a host's own driver that rejects is called again with the sweeps: until it resolves the
 * store is unhealthy, and sweeps handle what is due.
 */
export interface TimerDriver {
  readonly name: string;
  readonly abilities: TimerAbilities;
  /** Begins to ring. An `onRing` that rejects has its alarms kept or dropped, never the process. */
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
