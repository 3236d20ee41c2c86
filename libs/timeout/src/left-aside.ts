import type { ClaimedBatch } from './claimed-batch';
import type { DueDeadline } from './deadline-handler';
import type { KindHealth } from './kind-health';
import type { LowWater } from './low-water';
import type { Pace } from './pace';
import type { SlotWatch } from './slot-watch';

/** What a kind's drain knows of itself. */
export interface DrainOwn {
  readonly pace: Pace;
  readonly health: KindHealth;
  readonly lowWater: LowWater;
  readonly watch: SlotWatch;
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
  /** A handler that is silent for longer is not waited for. */
  readonly answerLimitMs: number;
}

/** A batch that was rolled back: what it had claimed, of how many at most, and how it was handled. */
export interface RolledBack {
  readonly claimed: ClaimedBatch;
  readonly limit: number;
  readonly isApart: boolean;
  /** How many batches of the kind could be under way with it, at most. */
  readonly drainers: number;
}

/** What a batch leaves to those that follow. */
export interface LeftAside {
  /** What it had claimed and has not handled. */
  readonly aside: readonly DueDeadline[];
  /** As they are put back: what others hold, or change at this moment. */
  readonly back: readonly DueDeadline[];
  /** What it had not claimed, and is due now: others that were held, as some of these were and are free. */
  readonly also: readonly DueDeadline[];
  /** To be called once it is committed. */
  learn(): void;
}

export const NOTHING_ASIDE: LeftAside = {
  aside: [],
  back: [],
  also: [],
  learn: () => undefined,
};
