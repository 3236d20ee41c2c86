import type { Clock } from '../clock';
import type { Alarm, OnRing, Survey, TimerAbilities, TimerDriver } from '../timer-driver';
import type { AlarmMessage } from './alarm-message';
import { AlarmStoreError } from './alarm-store.error';
import { HeldAlarms } from './held-alarms';
import { RingLoop } from './ring-loop';

export interface HoldingDriverParts {
  readonly name: string;
  /** As its operators call it. */
  readonly broker: string;
  readonly abilities: TimerAbilities;
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  readonly onError: (error: Error) => void;
}

/** A call gives up when the broker is silent for so long. */
export const CALL_TIMEOUT_MS = 1_500;
/** For clocks that are set. */
const POLL_MS = 1_000;

/**
 * What drivers share whose broker hands alarms out early: their last seconds are waited for here, unacknowledged,
 * so that the broker gives them to another process when this one dies.
 */
export abstract class HoldingDriver<Delivery> implements TimerDriver {
  readonly name: string;
  readonly abilities: TimerAbilities;
  protected readonly clock: Clock;
  protected readonly onError: (error: Error) => void;
  protected readonly held: HeldAlarms<Delivery>;
  readonly #broker: string;
  readonly #loop: RingLoop;
  #stopping: Promise<void> | undefined;

  constructor({ name, broker, abilities, databaseClock: clock, onError }: HoldingDriverParts) {
    [this.name, this.abilities, this.#broker] = [name, abilities, broker];
    [this.clock, this.onError] = [clock, onError];
    this.held = new HeldAlarms(clock, (delivery: Delivery) => this.acknowledge(delivery));
    this.#loop = new RingLoop(this.held, { clock, onError, longestWaitMs: () => POLL_MS });
  }

  /** Resolves at once, also while the broker is away: ringing begins when it is there. */
  async start(onRing: OnRing): Promise<void> {
    this.refuseIfStopped();
    if (this.#loop.isStarted) return;
    this.#loop.start(onRing);
    this.listen();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  abstract arm(alarms: readonly Alarm[]): Promise<void>;
  abstract disarm(ids: readonly string[]): Promise<void>;
  abstract survey(): Promise<Survey>;

  /** Asks the broker for what is due, again and again while it is away. */
  protected abstract listen(): void;
  /** Asks for nothing any more; what is awaited is what would bring again what is given back. */
  protected abstract stopListening(): Promise<void> | void;
  /** Everything that was said has been heard, or there is nobody to hear it: in bounded time. */
  protected abstract close(): Promise<void>;
  /** It has rung. */
  protected abstract acknowledge(delivery: Delivery): void;
  /** Somebody else is to ring it. */
  protected abstract giveBack(delivery: Delivery): void;

  /** Rings at its instant. */
  protected hold({ id, atMs }: AlarmMessage, delivery: Delivery): void {
    this.held.hold({ id, at: new Date(atMs) }, delivery);
    this.#loop.lookAt(atMs);
  }

  /** True from the beginning of `stop`. */
  protected get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  protected refuseIfStopped(): void {
    if (this.#stopping) throw new AlarmStoreError(`The ${this.#broker} driver was stopped`);
  }

  /** For a message that somebody else has put there. */
  protected noAlarm(): AlarmStoreError {
    return new AlarmStoreError(`A message in ${this.#broker} is no alarm, and was dropped`);
  }

  /** Of a broker that cannot tell what it keeps. */
  protected unlisted(generation: string): Survey {
    const why = `Alarms in ${this.#broker} cannot be listed`;
    return {
      generation,
      // eslint-disable-next-line require-yield -- there is nothing to list
      async *alarms() {
        throw new AlarmStoreError(why);
      },
    };
  }

  async #stop(): Promise<void> {
    await this.stopListening();
    // Others ring what is held here; what rings already is waited for.
    this.held.giveBack((delivery) => this.giveBack(delivery));
    await this.#loop.stop();
    await this.close();
    this.held.clear();
  }
}
