import type { DueDeadline } from '../deadlines/deadline-handler';

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
