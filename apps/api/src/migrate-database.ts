import { createDataSource, migrate, type MigrationTarget, seedProducts } from '@app/orders';

export interface Migrated {
  /** The names of the migrations that were run now. */
  readonly migrations: readonly string[];
  /** How many products an empty shop was given. */
  readonly seeded: number;
}

/**
 * Brings the database up to date. Safe to repeat.
 * @param seed true: an empty shop is given something to sell, to try it out; never in production
 */
export async function migrateDatabase(
  target: MigrationTarget,
  { seed = false } = {},
): Promise<Migrated> {
  const migrations = await migrate(target);
  if (!seed) return { migrations, seeded: 0 };
  const dataSource = createDataSource(target, 'lastcall seed', 1);
  await dataSource.initialize();
  try {
    return { migrations, seeded: await seedProducts(dataSource) };
  } finally {
    await dataSource.destroy();
  }
}
