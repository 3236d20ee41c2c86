import 'reflect-metadata';
import { ConfigError, loadConfig } from '@app/orders';
import { migrateDatabase } from './migrate-database';

/* node dist/apps/api/src/migrate.js: exit code 0 done, 1 not done, 2 wrong settings. */

async function main(): Promise<void> {
  const { migrations, seeded } = await migrateDatabase(loadConfig());
  const done = migrations.length > 0 ? `ran ${migrations.join(', ')}` : 'nothing to run';
  console.log(`Migrations: ${done}${seeded > 0 ? `; ${seeded} products to begin with` : ''}`);
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  console.error(error instanceof ConfigError ? message : `The migrations failed: ${message}`);
  process.exitCode = error instanceof ConfigError ? 2 : 1;
});
