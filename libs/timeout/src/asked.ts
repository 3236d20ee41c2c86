import type { Claimant } from './deadline-handler';
import type { Part } from './drain-parts';

/** What a round asks of its batches. */
export interface Asked {
  readonly by: Claimant;
  /** Only what has been due for so long. */
  readonly overdueByMs: number;
  /** Only these. */
  readonly part?: Part;
}

/** Who leaves some of it to others says nothing of what is next. */
export const claimsAllThatIsDue = ({ part, overdueByMs }: Asked): boolean =>
  !part && overdueByMs === 0;
