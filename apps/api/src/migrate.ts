import 'reflect-metadata';
import { ConfigError, loadMigrationTarget, postgresRefusal, printableText } from '@app/orders';
import { wordsOf } from '@app/timeout';
import { migrateDatabase } from './migrate-database';

/*
 * node dist/apps/api/src/migrate.js [--seed]: exit code 0 done, 1 not done, 2 wrong settings or usage.
 * With --seed, as npm start runs it, an empty shop is given a few products to try it out.
 */

async function main(): Promise<void> {
  const unknown = process.argv.slice(2).filter((argument) => argument !== '--seed');
  if (unknown.length > 0) throw new ConfigError(`${unknown.join(' ')} is unknown; there is --seed`);
  const seed = process.argv.includes('--seed');
  const { migrations, seeded } = await migrateDatabase(loadMigrationTarget(), { seed });
  const done = migrations.length > 0 ? `ran ${migrations.join(', ')}` : 'nothing to run';
  console.log(`Migrations: ${done}${seeded > 0 ? `; ${seeded} products to begin with` : ''}`);
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? wordsOf(error) : String(error);
  const refused = postgresRefusal(error);
  const why = refused ? `${message} (${refused.what}: ${refused.mend})` : message;
  const told = error instanceof ConfigError ? message : `The migrations failed: ${why}`;
  console.error(printableText(told));
  process.exitCode = error instanceof ConfigError ? 2 : 1;
});
