export interface GroupCommitOptions<Request> {
  /** The most requests one group may hold. */
  readonly maxGroup: number;
  /** Groups under way at once; each uses one connection. */
  readonly lanes: number;
  /**
   * A further lane begins once the newest group has been under way for so long, or a full one waits:
   * until then requests gather, as a large group costs less than two small ones. Default: at once.
   */
  readonly nextLaneAfterMs?: number;
  /** The most requests that may wait; the next one is refused by `overflow`. */
  readonly maxWaiting: number;
  readonly overflow: () => Error;
  /** Requests with the same key never share a group: the later one sees what the earlier did. */
  readonly keyOf?: (request: Request) => string;
  /** What a request needs to itself: groups that are under way at once never share any of it, but for one that waits. */
  readonly needsOf?: (request: Request) => readonly string[];
  /** True for a need that can be waited for, or had alone, where {@link HowToCarryOut} says so. Default: for none. */
  readonly canWaitFor?: (need: string) => boolean;
  /** For a request that waited for too long for what somebody else holds of its needs. */
  readonly tired?: (needs: readonly string[]) => Error;
  /** For those of a group whose parts have failed for too long by then, with the last error. */
  readonly tookTooLong?: (error: unknown) => Error;
  /** True for errors that splitting a group cannot cure, such as a database that is away. */
  readonly isEverybodys: (error: unknown) => boolean;
  /** True for those of them that took long, and would meet all who wait behind the group as well. */
  readonly isForAllWaiting?: (error: unknown) => boolean;
  /** True where somebody holds what a request needs: it was waited for in vain, for as long as anybody may. */
  readonly isHeld?: (error: unknown) => boolean;
}

/** The answer for a request that needs what somebody else holds: it is tried again in a while. */
export class HeldElsewhere {
  constructor(
    readonly needs: readonly string[],
    /** True where it cost the whole group: who needs any of it goes by itself until one has succeeded. */
    readonly failsGroups = false,
    /** True where all groups of other processes stood aside: somebody else keeps it. */
    readonly isKept = false,
  ) {}
}

/** The parts of a group that fails are tried for so long: the answers then come within 3 s. */
const TRIED_IN_PARTS_FOR_MS = 1_000;

/** True where a group that began then, and fails now, is not to be tried in parts any more. */
export const tookTooLong = ({ beganMs }: Pick<HowToCarryOut, 'beganMs'>): boolean =>
  performance.now() - beganMs > TRIED_IN_PARTS_FOR_MS;

export interface HowToCarryOut {
  /** They have waited for what one of them needs: its part of them is to wait no longer, or all of them would. */
  readonly haveWaited: boolean;
  /**
   * What is to be waited for before all else, holding nothing: each of them needs it. It was found held again and
   * again, as by those who come again at once, whom nobody overtakes who only looks now and then.
   */
  readonly waitsFor: string | undefined;
  /**
   * `alone`: groups of other processes are to stand aside, as what they have all the time was found held again and
   * again. `none`: it waits for something else, and would keep them from a turn.
   */
  readonly turn: 'alone' | 'beside' | 'none';
  /** Since when the one who has waited longest has, by `performance.now()`. */
  readonly sinceMs: number;
  /** Since when the group is tried of which they are a part, or the whole, by `performance.now()`. */
  readonly beganMs: number;
}
