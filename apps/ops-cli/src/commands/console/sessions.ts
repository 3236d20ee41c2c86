import type { PageSession } from '@app/orders';
import { OpsCommand } from '../../ops-command';
import { type Column, table } from '../../text/table';

const COLUMNS: readonly Column<PageSession>[] = [
  { title: 'ID', value: ({ id }) => id },
  { title: 'WHO', value: ({ subject }) => subject },
  { title: 'SCOPES', value: ({ scopes }) => scopes.join(' ') },
  { title: 'SINCE', value: ({ openedAt }) => openedAt?.toISOString() },
  { title: 'UNTIL', value: ({ endsAt }) => endsAt.toISOString() },
];

export default class ConsoleSessions extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'Who is logged in to the console';
  static override examples = ['<%= config.bin %> console sessions'];

  async run(): Promise<{ items: PageSession[] }> {
    await this.parse(ConsoleSessions);
    const { pageSessions } = await this.installation();
    const items = await pageSessions.list('console');
    if (items.length === 0) this.note('Nobody is logged in to the console');
    else this.log(table(items, COLUMNS));
    const { MAX_SESSIONS_LISTED: most } = await import('@app/orders');
    if (items.length === most) this.note(`The newest ${most}; others may be logged in, too`);
    return { items };
  }
}
