import type { Alarms } from './alarms';
import { isContention } from '../database/database-errors';
import type { TimeoutTelemetry } from '../telemetry';
import type { TimerStoreHealth } from './timer-store-health';

/**
 * So often alarms are armed, and far deadlines are brought near, however seldom sweeps are: what is due in more
 * than an hour when it is committed has many such turns until it has to be where rings look.
 */
const INTERVAL_MS = 300_000;

/** Keeps the alarms armed, one turn at a time: many alarms in a slow store outlast a sweep. */
export class Arming {
  /** By the monotonic clock, as {@link isDue}. */
  #beganAtMs = -Infinity;
  #underWay: Promise<boolean> | undefined;
  /** How many alarms that nobody has told of. */
  #armed = 0;
  readonly #ending = new AbortController();

  constructor(
    private readonly alarms: Alarms,
    private readonly health: TimerStoreHealth,
    private readonly telemetry: TimeoutTelemetry,
  ) {}

  /** True where nobody has begun to arm for a while, by `performance.now()`. */
  isDue(nowMs: number): boolean {
    return nowMs - this.#beganAtMs >= INTERVAL_MS;
  }

  /** Resolves to whether it went through. Never rejects: a store that is away is unhealthy, and is told of so. */
  arm(): Promise<boolean> {
    return (this.#underWay ??= this.#arm().finally(() => (this.#underWay = undefined)));
  }

  /** How many alarms were armed since the last call. */
  takeArmed(): number {
    const armed = this.#armed;
    this.#armed = 0;
    return armed;
  }

  /** Resolves when nothing is armed just now. */
  async settled(): Promise<void> {
    await this.#underWay;
  }

  /** Arms no more; resolves when the page that is being read or armed has come to the store. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.settled();
  }

  async #arm(): Promise<boolean> {
    this.#beganAtMs = performance.now();
    try {
      this.#armed += await this.alarms.catchUp(this.#ending.signal);
      return true;
    } catch (error) {
      // Somebody holds deadlines: of the store that tells nothing.
      if (isContention(error) && !isOfStore(error)) {
        this.telemetry.failed('arm alarms', error);
        return false;
      }
      this.alarms.forget();
      this.health.become(false, error);
      return false;
    }
  }
}

/** By its code, as drivers say it: one of them keeps its alarms in Postgres. */
const isOfStore = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === 'alarm_store';
