import type { Clock } from '../clock';
import type { Alarm, OnRing, Survey, TimerAbilities, TimerDriver } from '../timer-driver';
import { RedisAlarmStore } from './redis-alarm-store';
import type { RedisTimerOptions } from './redis-timer';
import { type AlarmSource, RingLoop, type RingLoopOptions } from './ring-loop';

export interface RedisLoopOptions extends RedisTimerOptions {
  /** A call gives up when Redis is silent for so long. Below 2 s. */
  readonly callTimeoutMs?: number;
}

/** A script serves nobody else meanwhile: this is well below a millisecond. */
const CHUNK = 500;
/** For clocks that are set, and news that got lost. */
const POLL_MS = 1_000;

/** What drivers share whose alarms due are taken out of Redis by scripts, by whoever asks first. */
export abstract class RedisLoopDriver implements TimerDriver {
  protected readonly store: RedisAlarmStore;
  protected readonly loop: RingLoop;
  protected readonly clock: Clock;
  #stopping: Promise<void> | undefined;

  constructor(
    readonly name: string,
    readonly abilities: TimerAbilities,
    options: RedisLoopOptions,
    ring: Pick<RingLoopOptions, 'batch'> = {},
  ) {
    this.clock = options.databaseClock;
    this.store = new RedisAlarmStore(name, options);
    const { clock } = this;
    const loop = { clock, onError: options.onError, longestWaitMs: () => POLL_MS, ...ring };
    this.loop = new RingLoop(this.source(), loop);
  }

  /** Resolves at once, also while Redis is away: ringing begins when it is there. */
  async start(onRing: OnRing): Promise<void> {
    this.store.refuseIfClosed();
    if (this.loop.isStarted) return;
    const listening = this.listen();
    this.loop.start(onRing);
    await listening;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    this.store.refuseIfClosed();
    for (let start = 0; start < alarms.length; start += CHUNK) {
      await this.armSome(alarms.slice(start, start + CHUNK));
    }
    for (const { at } of alarms) this.loop.lookAt(at.getTime());
  }

  async disarm(ids: readonly string[]): Promise<void> {
    this.store.refuseIfClosed();
    for (let start = 0; start < ids.length; start += CHUNK) {
      await this.disarmSome(ids.slice(start, start + CHUNK));
    }
  }

  async survey(): Promise<Survey> {
    const generation = await this.store.generation();
    return { generation, alarms: () => this.alarms() };
  }

  /** Called while the driver is made: what it gives back may use the driver's own, it may not. */
  protected abstract source(): AlarmSource;
  protected abstract armSome(alarms: readonly Alarm[]): Promise<unknown>;
  protected abstract disarmSome(ids: readonly string[]): Promise<unknown>;
  protected abstract alarms(): AsyncGenerator<Alarm>;

  /** News of a head that others have armed: they publish it to the channel `wake`. */
  protected async listen(): Promise<void> {
    const look = (): void => this.loop.lookAt(-Infinity);
    const pattern = this.store.key('wake');
    // Not waited for: it takes as long as Redis is away.
    void this.store.listen({ pattern, onMessage: look, onBack: look });
  }

  /** True from the beginning of `stop`. */
  protected get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  async #stop(): Promise<void> {
    this.store.close();
    await this.loop.stop();
    await this.store.hangUp();
  }
}
