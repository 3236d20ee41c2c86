import type { DataSource } from 'typeorm';
import { inTransaction } from '../database/in-transaction';
import { unlessItStandsStill } from '../database/stood-still';
import { findPlace, type HostPostgres } from './connections';
import type { Tx } from './deadline-handler.decorator';
import { hostTx } from './host-handler';
import { enterHost, leaveHost } from './host-session';

/** Transactions as handlers are given them, without deadlines and tables of ours. */
export interface HostTransactions {
  /** Commits what `work` did, or undoes it if that rejects. */
  run<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const CONNECTIONS = 3;

/** For tests of what a host's handlers do with their transaction. */
export async function openHostTransactions(postgres: HostPostgres): Promise<HostTransactions> {
  const place = await findPlace(postgres, 'lastcall');
  const dataSource = await place.open({ name: 'lastcall contract', connections: CONNECTIONS });
  return {
    run: (work) => inHostTransaction(dataSource, place.hostPath, work),
    close: () => dataSource.destroy(),
  };
}

export interface HostTransactionOptions {
  /** Told of a hook of `afterCommit` that fails. */
  readonly hookFailed?: (error: unknown) => void;
  /** How long a lock is waited for (`20ms`); what the connection has unless given. */
  readonly lockLimit?: string | undefined;
}

/**
 * With the host's search path for `work`. A failure that `work` went on from rejects, and undoes all. Work that never
 * answers is given up once Postgres has ended its transaction: whoever waits for it would do so for good.
 */
export function inHostTransaction<T>(
  dataSource: DataSource,
  hostPath: string,
  work: (tx: Tx) => Promise<T>,
  { hookFailed, lockLimit }: HostTransactionOptions = {},
): Promise<T> {
  return inTransaction(dataSource, async (tx) => {
    const before = await enterHost(tx, hostPath, lockLimit);
    const result = await unlessItStandsStill(tx, 'The work of the host', () =>
      work(hostTx(tx, hookFailed)),
    );
    // Also hears of such a failure: the COMMIT would undo all, and say nothing of it.
    await leaveHost(tx, before);
    return result;
  });
}
