import { text } from 'node:stream/consumers';
import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { usageFailure } from '../../command-failure';
import { changeContexts, type Context, contextsFile, maskedUrl } from '../../contexts';
import { OpsCommand } from '../../ops-command';

const WAYS = ['database-url', 'of-home'];

export interface AddedContext {
  readonly name: string;
  readonly current: boolean;
  /** Without its password. */
  readonly databaseUrl: string | null;
  /** Null: the default one, or that of the home. */
  readonly schema: string | null;
}

export default class ContextAdd extends OpsCommand {
  static override summary = 'Keep by a name how to get to an installation';
  static override description =
    'Kept for this user alone, with mode 0600. The first one is used at once, another after context use. ' +
    'An address given as an argument is seen by others of this machine while the command runs: - reads ' +
    'it from stdin, both of them a line each, first the database.';
  static override examples = [
    '<%= config.bin %> context add prod --database-url - --redis-url -',
    '<%= config.bin %> context add shop-b --database-url - --schema shop_b',
    '<%= config.bin %> context add local --of-home /srv/shop/.lastcall',
  ];
  static override args = {
    name: Args.string({
      ignoreStdin: true,
      name: 'NAME',
      description: 'small letters, digits, - and _',
      required: true,
    }),
  };
  static override flags = {
    'database-url': Flags.string({ description: 'DATABASE_URL; - reads stdin', exactlyOne: WAYS }),
    'redis-url': Flags.string({
      description: 'REDIS_URL: one server, a cluster, or sentinels; - reads stdin',
      dependsOn: ['database-url'],
    }),
    schema: Flags.string({
      description: 'DATABASE_SCHEMA, where it is not lastcall',
      dependsOn: ['database-url'],
    }),
    'of-home': Flags.string({
      description: 'folder of an installation that npm start runs',
      helpValue: 'FOLDER',
      exactlyOne: WAYS,
    }),
  };

  async run(): Promise<AddedContext> {
    const { args, flags } = await this.parse(ContextAdd);
    const { name } = args;
    if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)) {
      throw usageFailure(`"${name}" is no name: small letters, digits, - and _`);
    }
    const [databaseUrl, redisUrl] = await told([flags['database-url'], flags['redis-url']]);
    const context: Context =
      databaseUrl === undefined
        ? { LASTCALL_HOME: resolve(flags['of-home'] ?? '') }
        : {
            DATABASE_URL: await postgresAddress(databaseUrl),
            ...(flags.schema === undefined
              ? {}
              : { DATABASE_SCHEMA: await schemaName(flags.schema) }),
            ...(redisUrl === undefined ? {} : { REDIS_URL: await redisAddress(redisUrl) }),
          };
    const { current } = await changeContexts(process.env, (kept) => ({
      current: kept.current ?? name,
      contexts: { ...kept.contexts, [name]: context },
    }));
    this.log(`Context ${name} is kept in ${contextsFile(process.env)}`);
    this.note(current === name ? 'It is used from now on' : `Next: lastcall context use ${name}`);
    return {
      name,
      current: current === name,
      databaseUrl: maskedUrl(context.DATABASE_URL),
      schema: context.DATABASE_SCHEMA ?? null,
    };
  }
}

/** Each as it was given; those that are - are the lines of stdin, in this order. */
async function told(given: readonly (string | undefined)[]): Promise<(string | undefined)[]> {
  if (!given.includes('-')) return [...given];
  const lines = (await text(process.stdin)).trim().split(/\s+/);
  return given.map((one) => (one === '-' ? (lines.shift() ?? '') : one));
}

/** Whatever is wrong with it, it is not repeated: it may have a password in it. */
async function postgresAddress(url: string): Promise<string> {
  const { complaintAboutPostgresUrl } = await import('@app/timeout');
  const complaint = complaintAboutPostgresUrl(url);
  if (complaint) throw usageFailure(`the postgres address ${complaint}`);
  return url;
}

async function schemaName(name: string): Promise<string> {
  const { complaintAboutSchema } = await import('@app/timeout');
  const complaint = complaintAboutSchema(name);
  if (complaint) throw usageFailure(`the schema ${complaint}`);
  return name;
}

async function redisAddress(url: string): Promise<string> {
  const { parseRedisUrl } = await import('@app/timeout');
  try {
    parseRedisUrl(url);
    return url;
  } catch (error) {
    throw usageFailure(`the redis address ${error instanceof Error ? error.message : ''}`);
  }
}
