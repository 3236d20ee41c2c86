import type { DataSource } from 'typeorm';
import { errorChain, isTableLocked } from './database-errors';
import { learnWhatWaited } from './row-waits';

/** A statement found a table locked before, and others are trying it: this one was not sent. */
export class StillLockedError extends Error {
  readonly code = 'still_locked';

  /** @param cause what Postgres has said to who waited; this is understood as that */
  constructor(cause: unknown) {
    super('A table is locked, as others have found', { cause });
  }
}

/** However TypeORM has wrapped it. */
export const isStillLocked = (error: unknown): boolean =>
  [...errorChain(error)].some((one) => one instanceof StillLockedError);

/** A host's statements may have a text each; ours are a few hundred. */
const MOST_KNOWN = 1_000;

/**
 * While a table is locked somebody of those who try finds so again each second; after this nobody has, and
 * what is tried seldom need not find out by itself that the table is free.
 */
const KNOWN_FOR_MS = 2_000;

interface Known {
  /** To the newest that waited. */
  readonly said: unknown;
  readonly atMs: number;
}

/**
 * Who waits for a table that is locked has a connection meanwhile, and soon those who wait in vain have
 * all of a pool: then nobody else gets one. So a text that has waited in vain is sent by a few at a time
 * until it goes through; all others hear at once that the table is locked. A text of which nothing has been
 * heard for a while is sent beside them, by as many again at the most: its table may be another one.
 */
class LockedStatements {
  /** By their texts. */
  readonly #known = new Map<string, Known>();
  readonly #trying = new Map<string, number>();
  #learnedAtMs = -Infinity;
  #sent = 0;

  constructor(
    private readonly mostSent: number,
    private readonly nowMs: () => number,
  ) {}

  async send<T>(text: string, work: () => Promise<T>): Promise<T> {
    const known = this.#knownOf(text);
    if (known && !this.#mayTry(text, known)) throw new StillLockedError(known.said);
    if (known) this.#count(text, 1);
    try {
      const result = await work();
      if (this.#known.size > 0) this.#known.delete(text);
      return result;
    } catch (error) {
      if (isTableLocked(error)) this.#learn(text, error);
      throw error;
    } finally {
      if (known) this.#count(text, -1);
    }
  }

  #knownOf(text: string): Known | undefined {
    if (this.#known.size === 0) return undefined;
    if (this.nowMs() - this.#learnedAtMs > KNOWN_FOR_MS) this.#known.clear();
    return this.#known.get(text);
  }

  #mayTry(text: string, { atMs }: Known): boolean {
    if (this.#sent < this.mostSent) return true;
    const isOld = this.nowMs() - atMs > KNOWN_FOR_MS;
    return isOld && !this.#trying.has(text) && this.#sent < 2 * this.mostSent;
  }

  #count(text: string, one: 1 | -1): void {
    this.#sent += one;
    const trying = (this.#trying.get(text) ?? 0) + one;
    if (trying > 0) this.#trying.set(text, trying);
    else this.#trying.delete(text);
  }

  #learn(text: string, said: unknown): void {
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size >= MOST_KNOWN) this.#known.delete(oldest);
    this.#learnedAtMs = this.nowMs();
    this.#known.set(text, { said, atMs: this.#learnedAtMs });
  }
}

const OF_DATA_SOURCE = new WeakMap<DataSource, LockedStatements>();

/** From here on so many of these connections, at the most, wait for tables that are known to be locked. */
export function limitWaitsForTables(
  dataSource: DataSource,
  most: number,
  nowMs = () => performance.now(),
): void {
  OF_DATA_SOURCE.set(dataSource, new LockedStatements(most, nowMs));
}

/**
 * Sends the statement of this text, whose connection is there, by `work`.
 * @throws {StillLockedError} where it need not be tried
 */
export function unlessLocked<T>(
  dataSource: DataSource,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const judged = async (): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      await learnWhatWaited(dataSource, error);
      throw error;
    }
  };
  return OF_DATA_SOURCE.get(dataSource)?.send(text, judged) ?? judged();
}
