import type { Drain } from './drain';
import { storableText } from '../database/storable-text';

/** A kind that a worker tries a few of now and then, and no more: its handler, or what follows its commits, fails for all. */
export interface StoppedKind {
  readonly kind: string;
  /** What it failed with last. */
  readonly reason: string;
  readonly forMs: number;
}

/** Somebody's message may quote all that could not be read. */
const MOST_CHARACTERS = 500;

/** Which of them stand still, and why, as can be kept in a table. */
export function stoppedKinds(drains: readonly Drain[]): StoppedKind[] {
  return drains.flatMap(({ kind, standstill }) => {
    if (!standstill) return [];
    const reason = storableText(String(standstill.error).slice(0, MOST_CHARACTERS));
    return [{ kind, reason, forMs: Math.round(standstill.forMs) }];
  });
}
