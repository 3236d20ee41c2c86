/** How things are with all processes at once. */
export interface Mood {
  /** How long each batch takes. */
  batchTakesMs: number;
  /** How long customers wait for their answers. */
  othersWaitMs: number;
  /** What the clock said before somebody set it and no operator has confirmed it. */
  jumpedFromMs: number | undefined;
  /** A release with a bug in a handler: to come, out, or rolled back. */
  bug: 'to come' | 'out' | 'rolled back';
  /** Promises that were seen to be broken on the way, in words. */
  faults: string[];
}

export function goodMood(batchTakesMs: number): Mood {
  return {
    ...{ batchTakesMs, othersWaitMs: 0, jumpedFromMs: undefined },
    ...{ bug: 'to come', faults: [] },
  };
}
