import { withTimeLimit } from '../time-limit';
import type { OnRing, TimerDriver } from '../timer-driver';
import type { TimerStoreHealth } from './timer-store-health';

/** As for its other calls: a driver that has not answered after so long may never. */
const STARTS_WITHIN_MS = 15_000;

/**
 * Has a driver ring. One that does not begin to in time leaves its deadlines to the sweeps, which are frequent
 * while it is unhealthy: a broker that is away keeps nobody from starting.
 */
export class DriverStart {
  /** Settles with the call that is under way, however late; a driver is not called beside it. */
  #underWay: Promise<void> | undefined;
  #isLate = false;
  #isOver = false;

  constructor(
    private readonly driver: TimerDriver,
    private readonly health: TimerStoreHealth,
    private readonly onRing: OnRing,
  ) {}

  /** True from a start that failed, or took too long, until one has come to its end. */
  get isMissing(): boolean {
    return this.#isLate;
  }

  /**
   * Resolves once it rings, or after a while without; what fails by then rejects unless `mayFail`: as set up, a
   * driver of ours that fails would never start.
   */
  async begin(mayFail: boolean): Promise<void> {
    const started = this.#try();
    try {
      await withTimeLimit(started, STARTS_WITHIN_MS, 'The timer driver did not start');
    } catch (error) {
      if (!mayFail && !this.#underWay) throw error;
      this.#missing(error);
    }
  }

  /** It is to ring no more: one that only now begins to is stopped again. */
  end(): void {
    this.#isOver = true;
  }

  /** With each sweep. */
  again(): void {
    if (this.#isLate && !this.#underWay) void this.#try().catch(() => undefined);
  }

  async #try(): Promise<void> {
    this.#underWay = this.driver.start(this.onRing);
    try {
      await this.#underWay;
      this.#isLate = false;
      if (this.#isOver) await this.driver.stop();
    } finally {
      this.#underWay = undefined;
    }
  }

  #missing(why: unknown): void {
    this.#isLate = true;
    this.health.become(false, why);
  }
}
