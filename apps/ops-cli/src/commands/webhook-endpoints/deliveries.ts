import { Flags } from '@oclif/core';
import type { Delivery, Page } from '@app/orders';
import { idArg } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { deliveriesTable } from '../../text/endpoints-text';

const STATUSES = ['pending', 'delivered', 'dead'] as const satisfies readonly Delivery['status'][];

export default class WebhookEndpointsDeliveries extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'Show what was, is and will be sent to an endpoint, newest first';
  static override examples = [
    '<%= config.bin %> webhook-endpoints deliveries 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --status dead',
  ];
  static override args = { id: idArg('a webhook endpoint') };
  static override flags = {
    status: Flags.option({ description: 'only these', options: STATUSES })(),
    limit: Flags.integer({ description: 'at most so many', default: 20, min: 1, max: 1_000 }),
    cursor: Flags.string({
      description: 'go on behind this; nextCursor of the page before',
      helpValue: 'CURSOR',
    }),
  };

  async run(): Promise<Page<Delivery>> {
    const { args, flags } = await this.parse(WebhookEndpointsDeliveries);
    const { deliveries } = await this.installation();
    const { status, limit, cursor } = flags;
    const page = await deliveries.list({ endpointId: args.id, status, limit, cursor });
    return this.showPage(page, deliveriesTable, 'Nothing was sent, or matches');
  }
}
