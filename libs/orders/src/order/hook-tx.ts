import type { EntityManager } from 'typeorm';

/** The transaction that decides. Tables are found as on connections of the host's own. */
export interface HookTx {
  readonly manager: EntityManager;
  query<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs after the commit, also what is asynchronous; nobody waits for it. What it throws or rejects
   * with is told of, and changes nothing: what is committed stands.
   */
  afterCommit(hook: () => unknown): void;
}
