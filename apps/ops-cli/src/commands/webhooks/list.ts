import { Flags } from '@oclif/core';
import type { WebhookEntry, Page } from '@app/orders';
import { pageFlags } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { instantText } from '../../text/instant';
import { statusText } from '../../text/status';
import { table } from '../../text/table';

const STATUSES = [
  'received',
  'processed',
  'held',
] as const satisfies readonly WebhookEntry['status'][];

export default class WebhooksList extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'List stored webhooks, newest first';
  static override examples = ['<%= config.bin %> webhooks list --status held'];
  static override flags = {
    status: Flags.option({ description: 'only in this status', options: STATUSES })(),
    ...pageFlags('a webhook'),
  };

  async run(): Promise<Page<WebhookEntry>> {
    const { flags } = await this.parse(WebhooksList);
    const { webhooks } = await this.installation();
    const page = await webhooks.list({
      status: flags.status,
      limit: flags.limit,
      cursor: flags.cursor,
    });
    return this.showPage(page, webhooksTable, 'No webhook matches');
  }
}

function webhooksTable(webhooks: readonly WebhookEntry[]): string {
  return table(webhooks, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => statusText(status) },
    { title: 'TYPE', value: ({ type }) => type },
    { title: 'RESULT', value: ({ result }) => result },
    { title: 'RECEIVED', value: ({ receivedAt }) => instantText(receivedAt) },
    { title: 'PROVIDER', value: ({ provider, eventId }) => `${provider} ${eventId}` },
    { title: 'PAYMENT', value: ({ paymentId }) => paymentId },
  ]);
}
