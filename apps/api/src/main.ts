import 'reflect-metadata';
import {
  type Config,
  ConfigError,
  DATABASE,
  isInfrastructureError,
  isOfOtherVersion,
  loadConfig,
  otherMigrations,
  postgresRefusal,
  printableText,
  WITHOUT_REDIS,
} from '@app/orders';
import { wordsOf } from '@app/timeout';
import { type Api, createApi, listen } from './create-app';
import { shutDownOnSignals } from './shut-down';

async function main(): Promise<void> {
  const config = settingsOrExit();
  const api = await createApi(config);
  exitOnBugs(api);
  shutDownOnSignals(api, config.SHUTDOWN_NOTICE);
  const url = await listen(api);
  await tellOfOtherTables(api);
  const { TIMER_DRIVER: timerDriver } = config;
  api.logger.info({ url, roles: [...config.ROLES], timerDriver }, 'listening');
  if (!config.REDIS_URL) api.logger.warn(`REDIS_URL is not set: ${WITHOUT_REDIS}`);
}

/** Where processes are replaced before the tables, or rolled back, whoever reads their log learns so from the first lines. */
async function tellOfOtherTables({ app, logger }: Api): Promise<void> {
  try {
    const { missing, unknown } = await otherMigrations(app.get(DATABASE));
    if (missing.length > 0) {
      const mend = 'run node dist/apps/api/src/migrate.js';
      logger.error({ missing }, `the tables are of an older version: ${mend}`);
    }
    if (unknown.length > 0) {
      const told = 'docs/operations.md, "Deploying a version", tells what that takes';
      logger.warn({ unknown }, `the tables are of a newer version: ${told}`);
    }
  } catch (error) {
    logger.warn({ err: error }, 'of which version the tables are is not known');
  }
}

/** Wrong settings are the operator's to mend: the message alone says how. */
function settingsOrExit(): Config {
  try {
    return loadConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

/** After an error that nobody expected, the state of this process is anybody's guess. */
function exitOnBugs({ logger }: Api): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(event, (error: unknown) => {
      logger.fatal({ err: error }, event);
      process.exit(1);
    });
  }
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? wordsOf(error) : String(error);
  console.error(printableText(`lastcall cannot start: ${meaningOf(error)}${message}`));
  process.exit(1);
});

/** What each refusal of an address to listen on says of the settings. */
const NOT_LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: 'PORT is taken by another process',
  EADDRNOTAVAIL: 'HOST is no address of this machine',
  EACCES: 'PORT is one that this user may not listen on',
};

/** Of what the system and Postgres say, for who has to mend it. */
function meaningOf(error: unknown): string {
  const { syscall, code = '' } = error as NodeJS.ErrnoException;
  if (syscall === 'listen') return NOT_LISTENING[code] ? `${NOT_LISTENING[code]}: ` : '';
  const refused = postgresRefusal(error);
  if (refused) return `${refused.what}: ${refused.mend}: `;
  if (isInfrastructureError(error)) return 'nothing answers at DATABASE_URL: ';
  if (!isOfOtherVersion(error)) return '';
  const mend = 'run node dist/apps/api/src/migrate.js, or mend DATABASE_SCHEMA';
  return `the schema that DATABASE_SCHEMA names is not migrated to this version: ${mend}: `;
}
