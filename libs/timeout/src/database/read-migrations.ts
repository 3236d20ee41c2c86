import type { DataSource } from 'typeorm';
import { MIGRATIONS_TABLE } from './pool-options';
import { queryRows } from './query-rows';

/** The names of the migrations that were run here; none where nobody has migrated. */
export async function readMigrations(dataSource: DataSource): Promise<ReadonlySet<string>> {
  const [table] = await queryRows<{ exists: boolean }>(
    dataSource,
    `SELECT to_regclass('${MIGRATIONS_TABLE}') IS NOT NULL AS exists`,
  );
  const rows = table?.exists
    ? await queryRows<{ name: string }>(dataSource, `SELECT name FROM ${MIGRATIONS_TABLE}`)
    : [];
  return new Set(rows.map(({ name }) => name));
}
