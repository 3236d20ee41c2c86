import type { EntityManager } from 'typeorm';

/** The transaction that decides. Tables are found as on connections of the host's own. */
export interface HookTx {
  readonly manager: EntityManager;
  query<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** Runs after the commit; must not throw. */
  afterCommit(hook: () => void): void;
}
