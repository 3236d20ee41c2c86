import type { Clock } from '../clock';
import { withTimeLimit } from '../time-limit';
import type { Alarm, OnRing, RingAnswer } from '../timer-driver';
import { type Complete, withDefaults } from '../with-defaults';

/** What was due, and when to look again. */
export interface Taken {
  readonly due: readonly Alarm[];
  /** The instant of the earliest alarm left, by the database's clock; undefined: none is known. */
  readonly nextAtMs: number | undefined;
}

/** A store whose due alarms are taken out by whoever asks. */
export interface AlarmSource {
  /** At most `limit` of those due; from now on their ids are unknown. Bounded wait. */
  take(nowMs: number, limit: number): Promise<Taken>;
  /** These have rung. What was armed again meanwhile stays. */
  forget?(rung: readonly Alarm[]): Promise<void>;
  /** These ring again after so long, unless they were armed again meanwhile. */
  putBack(again: readonly { readonly alarm: Alarm; readonly inMs: number }[]): Promise<void>;
}

export interface RingLoopOptions {
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  /** Looks so often whatever it believes: clocks are set, and news from elsewhere gets lost. */
  readonly longestWaitMs: () => number;
  /** Alarms in one ring. */
  readonly batch?: number;
  /** Rings under way at once in this process. */
  readonly concurrency?: number;
  /** How long `stop` waits for rings under way. */
  readonly stopTimeoutMs?: number;
}

const DEFAULTS = { batch: 500, concurrency: 4, stopTimeoutMs: 15_000 } as const;
/** After a store's error, at first; then twice as long each time. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
/** Where somebody holds what is due, another worker nearly always for a moment; twice as long each time. */
const FIRST_IN_VAIN_MS = 1;
const LONGEST_IN_VAIN_MS = 100;

/** Sleeps until the earliest alarm of a source is due, takes what is due, and rings it. */
export class RingLoop {
  readonly #options: Complete<RingLoopOptions>;
  readonly #rings = new Set<Promise<void>>();
  #running: Promise<void> | undefined;
  #stopping = false;
  /** Ends the sleep under way. */
  #wake: (() => void) | undefined;
  /** When the sleep under way ends by itself. */
  #wakesAtMs = -Infinity;
  /** Somebody called while nobody slept. */
  #called = false;

  constructor(
    private readonly source: AlarmSource,
    options: RingLoopOptions,
  ) {
    this.#options = withDefaults(DEFAULTS, options);
  }

  get isStarted(): boolean {
    return this.#running !== undefined;
  }

  start(onRing: OnRing): void {
    this.#running ??= this.#run(onRing);
  }

  /** There is, perhaps, an alarm at this instant: looks no later than that. */
  lookAt(atMs: number): void {
    if (atMs >= this.#wakesAtMs) return;
    this.#called = true;
    this.#wake?.();
  }

  /** Takes nothing more; resolves when the rings under way have ended, in bounded time. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#running;
    const ended = withTimeLimit(
      this.#ringsEnded(),
      this.#options.stopTimeoutMs,
      'Rings under way did not end',
    );
    await ended.catch(this.#options.onError);
  }

  async #run(onRing: OnRing): Promise<void> {
    const { clock, batch, concurrency, longestWaitMs } = this.#options;
    let [pauseMs, inVainMs] = [FIRST_PAUSE_MS, FIRST_IN_VAIN_MS];
    while (!this.#stopping) {
      if (this.#rings.size >= concurrency) {
        await this.#ringEndsOrStop();
        continue;
      }
      // Whoever calls from here on is heard by the sleep that follows.
      [this.#called, this.#wakesAtMs] = [false, Infinity];
      try {
        const { due, nextAtMs } = await this.source.take(clock.nowMs(), batch);
        pauseMs = FIRST_PAUSE_MS;
        if (due.length > 0) this.#ring(due, onRing);
        const nowMs = clock.nowMs();
        const inMs = Math.ceil((nextAtMs ?? Infinity) - nowMs);
        const isInVain = due.length === 0 && inMs <= 0;
        if (inMs > 0) await this.#sleep(Math.min(inMs, longestWaitMs()));
        else if (isInVain) await this.#sleep(inVainMs);
        inVainMs = isInVain ? Math.min(inVainMs * 2, LONGEST_IN_VAIN_MS) : FIRST_IN_VAIN_MS;
      } catch (error) {
        this.#options.onError(asError(error));
        this.#called = false;
        await this.#sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
  }

  async #sleep(delayMs: number): Promise<void> {
    if (this.#stopping || this.#called) return;
    this.#wakesAtMs = this.#options.clock.nowMs() + delayMs;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  async #ringEndsOrStop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => (this.#wake = resolve));
    await Promise.race([stopped, ...this.#rings]);
    this.#wake = undefined;
  }

  #ring(due: readonly Alarm[], onRing: OnRing): void {
    const ring = this.#ringOnce(due, onRing)
      .catch((error: unknown) => this.#options.onError(asError(error)))
      .finally(() => this.#rings.delete(ring));
    this.#rings.add(ring);
  }

  async #ringOnce(due: readonly Alarm[], onRing: OnRing): Promise<void> {
    let answer: RingAnswer;
    let failure: Error | undefined;
    try {
      answer = await onRing(due);
    } catch (error) {
      // Dropped, like an alarm of any other driver: the sweep takes what it stood for.
      failure = asError(error);
    }
    const inMs = new Map((answer ?? []).map((again) => [again.id, again.inMs]));
    const again = due.filter(({ id }) => inMs.has(id));
    if (again.length > 0) {
      await this.source.putBack(
        again.map((alarm) => ({ alarm, inMs: Math.max(1, inMs.get(alarm.id) ?? 0) })),
      );
      this.lookAt(-Infinity);
    }
    const rung = due.filter(({ id }) => !inMs.has(id));
    if (rung.length > 0) await this.source.forget?.(rung);
    if (failure) throw failure;
  }

  async #ringsEnded(): Promise<void> {
    while (this.#rings.size > 0) await Promise.allSettled(this.#rings);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
