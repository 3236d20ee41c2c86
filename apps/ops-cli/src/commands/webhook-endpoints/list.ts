import type { WebhookEndpoint } from '@app/orders';
import { OpsCommand } from '../../ops-command';
import { endpointsTable } from '../../text/endpoints-text';

export default class WebhookEndpointsList extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = "List the shop's own systems that hear of events, and how they do";
  static override examples = ['<%= config.bin %> webhook-endpoints list'];

  async run(): Promise<{ items: WebhookEndpoint[]; nextCursor: null }> {
    await this.parse(WebhookEndpointsList);
    const { webhookEndpoints } = await this.installation();
    const page = { items: await webhookEndpoints.list(), nextCursor: null };
    this.showPage(page, endpointsTable, 'There is no webhook endpoint');
    return page;
  }
}
