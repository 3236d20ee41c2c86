import type { DataSource } from 'typeorm';
import type { Clock } from '../clock';
import { unlessLocked } from './locked-statements';
import { nameOf, send, type Statement } from './send-statement';

/** One statement outside any transaction. Same contract as {@link Transaction.rows}. */
export function queryRows<T>(
  dataSource: DataSource,
  sql: string,
  params: readonly unknown[] = [],
): Promise<T[]> {
  return query(dataSource, { text: sql, values: [...params] });
}

/** The same for the few statements that run all the time. Same contract as {@link Transaction.hot}. */
export function queryHot<T>(
  dataSource: DataSource,
  sql: string,
  params: readonly unknown[],
): Promise<T[]> {
  return query(dataSource, { name: nameOf(sql), text: sql, values: [...params] });
}

async function query<T>(dataSource: DataSource, statement: Statement): Promise<T[]> {
  const runner = dataSource.createQueryRunner();
  try {
    // Who waited for a connection may hear by now that it need not be waited any more.
    await runner.connect();
    return await unlessLocked(dataSource, statement.text, () => send(runner, statement));
  } finally {
    await runner.release();
  }
}

/** One statement, and the instants by `clock` between which it was under way. */
export async function timedRows<T>(
  dataSource: DataSource,
  clock: Clock,
  sql: string,
): Promise<{ readonly rows: T[]; readonly sentAtMs: number; readonly answeredAtMs: number }> {
  const runner = dataSource.createQueryRunner();
  try {
    // Waiting for a connection is no part of it.
    await runner.connect();
    const sentAtMs = clock.nowMs();
    const rows = await send<T>(runner, { text: sql, values: [] });
    return { rows, sentAtMs, answeredAtMs: clock.nowMs() };
  } finally {
    await runner.release();
  }
}
