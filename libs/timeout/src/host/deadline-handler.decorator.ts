import type { EntityManager } from 'typeorm';
import { markOnce } from './as-provider';

/** A deadline that has come. */
export interface Due {
  readonly kind: string;
  readonly subjectId: string;
  /** Of one that has failed, when it was to be tried again: `Timeouts.get` tells for when it was armed. */
  readonly dueAt: Date;
  /** How often handling it has failed so far. */
  readonly failures: number;
}

/**
 * The transaction in which the batch was taken: what is done by it commits with that, or neither
 * does. Tables are found as on the host's own connections. It is for one call of the handler: a
 * statement that is sent once that has answered or failed is refused.
 */
export interface Tx {
  /** TypeORM's; with `postgres: { dataSource }` it knows that data source's entities. */
  readonly manager: EntityManager;
  query<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs after the commit, also what is asynchronous; nobody waits for it. What it throws or rejects
   * with is told of, and changes nothing: what is committed stands.
   */
  afterCommit(hook: () => unknown): void;
}

/** What a `@DeadlineHandler` is. */
export interface HandlesDue {
  /** `changed`: how many of the subjects were changed; the others had moved on. */
  handle(due: readonly Due[], tx: Tx): Promise<{ readonly changed: number }>;
}

export interface DeadlineHandlerOptions {
  /** The largest batch that one transaction takes; 500 unless given. */
  readonly maxBatch?: number | undefined;
  /** The name given to `TimeoutModule.forRoot`, if any. */
  readonly timeouts?: string | undefined;
}

/** @internal */
export interface HandlerMark extends DeadlineHandlerOptions {
  readonly kind: string;
}

/** @internal */
export const HANDLER_MARK = 'lastcall:deadline-handler';

/**
 * Makes a class the one handler for deadlines of a kind; it is a provider as any other.
 * @throws {TypeError} for a class that has one of these already
 */
export function DeadlineHandler(
  kind: string,
  options: DeadlineHandlerOptions = {},
): <T extends abstract new (...args: never[]) => HandlesDue>(target: T) => void {
  const mark: HandlerMark = { ...options, kind };
  return markOnce('DeadlineHandler', HANDLER_MARK, mark);
}
