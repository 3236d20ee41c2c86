import { maskedUrl, readContexts } from '../../contexts';
import { OpsCommand } from '../../ops-command';
import { paint } from '../../text/paint';
import { table } from '../../text/table';

export interface ContextEntry {
  readonly name: string;
  readonly current: boolean;
  /** Without passwords. */
  readonly databaseUrl: string | null;
  /** Null: the default one, or that of the home. */
  readonly schema: string | null;
  readonly redisUrl: string | null;
  readonly home: string | null;
}

export default class ContextList extends OpsCommand {
  static override summary = 'List the installations that are kept by a name, without passwords';
  static override examples = ['<%= config.bin %> context list'];

  async run(): Promise<{ items: ContextEntry[] }> {
    await this.parse(ContextList);
    const { current, contexts } = readContexts(process.env);
    const items = Object.entries(contexts).map(([name, context]) => ({
      name,
      current: name === current,
      databaseUrl: maskedUrl(context.DATABASE_URL),
      schema: context.DATABASE_SCHEMA ?? null,
      redisUrl: maskedUrl(context.REDIS_URL),
      home: context.LASTCALL_HOME ?? null,
    }));
    if (items.length === 0) this.note('There is no context; lastcall context add makes one');
    else this.log(contextsTable(items));
    return { items };
  }
}

function contextsTable(items: readonly ContextEntry[]): string {
  return table(items, [
    { title: '', value: (one) => (one.current ? paint.good('*') : ' ') },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'DATABASE', value: ({ databaseUrl }) => databaseUrl },
    { title: 'REDIS', value: ({ redisUrl }) => redisUrl },
    { title: 'SCHEMA', value: ({ schema }) => schema },
    { title: 'HOME', value: ({ home }) => home },
  ]);
}
