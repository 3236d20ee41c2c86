import type { Claimant } from '../deadlines/deadline-handler';
import type { ShardWork } from './drain-parts';

/** What a round asks of its batches. */
export interface Asked {
  readonly by: Claimant;
  /** Only what has been due for so long. */
  readonly overdueByMs: number;
  /** Only these. */
  readonly shard?: ShardWork;
}

/** Who leaves some of it to others says nothing of what is next. */
export const claimsAllThatIsDue = ({ shard, overdueByMs }: Asked): boolean =>
  !shard && overdueByMs === 0;
