import { paceDefaults, type PaceOptions } from './pace';

export interface DrainOptions extends PaceOptions {
  /** After so many failures a subject is held for an operator. */
  readonly maxFailures: number;
  /** A handler that is silent for longer is not waited for: its batch is rolled back, and the kind goes on. */
  readonly answerLimitMs: number;
}

/** A single statement may take 15 s; who makes none loses the transaction after what the session allows, which is no more. */
const ANSWER_LIMIT_MS = 20_000;

/**
 * So many connections has who claims and handles: each kind has one to itself, and two that burst at the same time do
 * not wait for each other (FurtherDrainers).
 */
export const drainConnections = (kinds: number, drainers: number): number => kinds + 2 * drainers;

export const drainDefaults: DrainOptions = {
  ...paceDefaults,
  maxFailures: 8,
  answerLimitMs: ANSWER_LIMIT_MS,
};
