/** Who has waited so long has little time left for a lock: its groups are without those who have more. */
const OLD_AFTER_MS = 1_500;

/** A request that waits for its group (group-commit.ts). */
export interface Waiting<Request, Result> {
  readonly request: Request;
  readonly key: string | undefined;
  needs: readonly string[];
  readonly sinceMs: number;
  /** How often a group has left it behind for what another group needed. */
  passedOver: number;
  /** What somebody else held of its needs when it was looked at, and how often that was tried. */
  held: readonly string[];
  tries: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export const isOld = ({ sinceMs }: { readonly sinceMs: number }, nowMs: number): boolean =>
  nowMs - sinceMs > OLD_AFTER_MS;
