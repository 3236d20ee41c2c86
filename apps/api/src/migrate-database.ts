import { type Config, dataSourceOptions, seedProducts } from '@app/orders';
import { DataSource } from 'typeorm';

/** Any number that nobody else locks: two that migrate at once take turns. */
const MIGRATION_LOCK = 7_126_354_001;

export interface Migrated {
  /** The names of the migrations that were run now. */
  readonly migrations: readonly string[];
  /** How many products an empty shop was given. */
  readonly seeded: number;
}

/** Brings the database up to date, and gives an empty shop something to sell. Safe to repeat. */
export async function migrateDatabase({
  DATABASE_URL: url,
}: Pick<Config, 'DATABASE_URL'>): Promise<Migrated> {
  const options = dataSourceOptions({ url, name: 'lastcall migrate', connections: 2 });
  // None of the limits of a request: an index takes as long as it takes, and so does our turn.
  const dataSource = new DataSource({ ...options, extra: {} });
  await dataSource.initialize();
  try {
    const turn = dataSource.createQueryRunner();
    try {
      await turn.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
      const migrations = (await dataSource.runMigrations()).map(({ name }) => name);
      return { migrations, seeded: await seedProducts(dataSource) };
    } finally {
      await turn.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
      await turn.release();
    }
  } finally {
    await dataSource.destroy();
  }
}
