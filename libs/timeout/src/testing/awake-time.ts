const TICK_MS = 10;

/**
 * Time as this process lives it: what passes while others have the machine's cores, and it stands
 * still, does not count. For limits that a program keeps by its own timers; it never runs fast.
 */
export class AwakeTime {
  #ticks = 0;
  /** A test that fails may leave it behind: it keeps no process. */
  readonly #timer = setInterval(() => (this.#ticks += 1), TICK_MS).unref();

  get nowMs(): number {
    return this.#ticks * TICK_MS;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** What `work` comes to, and how long it took while this process was awake. */
export async function timed<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly tookMs: number }> {
  const time = new AwakeTime();
  try {
    return { result: await work(), tookMs: time.nowMs };
  } finally {
    time.stop();
  }
}
