import { createDataSource, migrate, type MigrationTarget, seedProducts } from '@app/orders';

export interface Migrated {
  /** The names of the migrations that were run now. */
  readonly migrations: readonly string[];
  /** How many products an empty shop was given. */
  readonly seeded: number;
}

/** Brings the database up to date, and gives an empty shop something to sell. Safe to repeat. */
export async function migrateDatabase(target: MigrationTarget): Promise<Migrated> {
  const migrations = await migrate(target);
  const dataSource = createDataSource(target, 'lastcall seed', 1);
  await dataSource.initialize();
  try {
    return { migrations, seeded: await seedProducts(dataSource) };
  } finally {
    await dataSource.destroy();
  }
}
