import type { DataSource } from 'typeorm';
import { queryRows } from './query-rows';

/** The same connections, if `assert` finds nothing wrong with them; else they are closed, and it rejects. */
export async function checked(
  dataSource: DataSource,
  assert: (dataSource: DataSource) => Promise<void>,
): Promise<DataSource> {
  try {
    await assert(dataSource);
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}

/** Rejects with `missing` where these connections find no table of that name. */
export async function assertTable(
  dataSource: DataSource,
  table: string,
  missing: () => Error,
): Promise<void> {
  const [row] = await queryRows<{ exists: boolean }>(
    dataSource,
    'SELECT to_regclass($1) IS NOT NULL AS exists',
    [table],
  );
  if (!row?.exists) throw missing();
}
