import { Flags } from '@oclif/core';
import type { WebhookEntry } from '@app/orders';
import { PAGE_FLAGS, parseId } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { table } from '../../text/table';

const STATUSES = [
  'received',
  'processed',
  'held',
] as const satisfies readonly WebhookEntry['status'][];

export default class WebhooksList extends OpsCommand {
  static override summary = 'List stored webhooks, newest first';
  static override examples = ['<%= config.bin %> webhooks list --status held'];
  static override flags = {
    status: Flags.option({ description: 'only in this status', options: STATUSES })(),
    ...PAGE_FLAGS,
  };

  async run(): Promise<{ items: WebhookEntry[]; nextCursor: string | null }> {
    const { flags } = await this.parse(WebhooksList);
    const cursor = flags.cursor && parseId(flags.cursor, 'a webhook');
    const { webhooks } = await this.installation();
    const page = await webhooks.list({ status: flags.status, limit: flags.limit, cursor });
    if (page.items.length === 0) this.note('No webhook matches');
    else this.log(webhooksTable(page.items));
    if (page.nextCursor) this.note(`More: --cursor ${page.nextCursor}`);
    return page;
  }
}

function webhooksTable(webhooks: readonly WebhookEntry[]): string {
  return table(webhooks, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'TYPE', value: ({ type }) => type },
    { title: 'RESULT', value: ({ result }) => result },
    { title: 'RECEIVED', value: ({ receivedAt }) => new Date(receivedAt).toISOString() },
    { title: 'PROVIDER', value: ({ provider, eventId }) => `${provider} ${eventId}` },
    { title: 'PAYMENT', value: ({ paymentId }) => paymentId },
  ]);
}
