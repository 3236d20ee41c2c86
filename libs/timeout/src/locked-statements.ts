import type { DataSource } from 'typeorm';
import { isTableLocked } from './database-errors';

/** A statement found a table locked before, and others are trying it: this one was not sent. */
export class StillLockedError extends Error {
  readonly code = 'still_locked';

  /** @param cause what Postgres has said to who waited; this is understood as that */
  constructor(cause: unknown) {
    super('A table is locked, as others have found', { cause });
  }
}

/** A host's statements may have a text each; ours are a few hundred. */
const MOST_KNOWN = 1_000;

/**
 * While a table is locked somebody of those who try finds so again each second; after this nobody has, and
 * what is tried seldom need not find out by itself that the table is free.
 */
const KNOWN_FOR_MS = 2_000;

/**
 * Who waits for a table that is locked has a connection meanwhile, and soon those who wait in vain have
 * all of a pool: then nobody else gets one. So a text that has waited in vain is sent by a few at a time
 * until it goes through; all others hear at once that the table is locked.
 */
class LockedStatements {
  /** By their texts, with what was said to the newest that waited. */
  readonly #said = new Map<string, unknown>();
  #learnedAtMs = -Infinity;
  #sent = 0;

  constructor(
    private readonly mostSent: number,
    private readonly nowMs: () => number,
  ) {}

  async send<T>(text: string, work: () => Promise<T>): Promise<T> {
    const said = this.#known(text);
    if (said !== undefined && this.#sent >= this.mostSent) throw new StillLockedError(said);
    if (said !== undefined) this.#sent += 1;
    try {
      const result = await work();
      this.#said.delete(text);
      return result;
    } catch (error) {
      if (isTableLocked(error)) this.#learn(text, error);
      throw error;
    } finally {
      if (said !== undefined) this.#sent -= 1;
    }
  }

  #known(text: string): unknown {
    if (this.#said.size === 0) return undefined;
    if (this.nowMs() - this.#learnedAtMs > KNOWN_FOR_MS) this.#said.clear();
    return this.#said.get(text);
  }

  #learn(text: string, said: unknown): void {
    const [oldest] = this.#said.keys();
    if (oldest !== undefined && this.#said.size >= MOST_KNOWN) this.#said.delete(oldest);
    this.#said.set(text, said);
    this.#learnedAtMs = this.nowMs();
  }
}

const OF_DATA_SOURCE = new WeakMap<DataSource, LockedStatements>();

/** From here on so many of these connections, at the most, wait for tables that are known to be locked. */
export function limitWaitsForTables(
  dataSource: DataSource,
  most: number,
  nowMs = () => performance.now(),
): DataSource {
  OF_DATA_SOURCE.set(dataSource, new LockedStatements(most, nowMs));
  return dataSource;
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
  return OF_DATA_SOURCE.get(dataSource)?.send(text, work) ?? work();
}
