import type { WebhookEndpoint } from '@app/orders';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';

export default class WebhookEndpointsEnable extends OpsCommand {
  static override summary = 'Switch an endpoint on again: what waits is sent first';
  static override examples = [
    '<%= config.bin %> webhook-endpoints enable 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "mended"',
  ];
  static override args = { id: idArg('a webhook endpoint') };
  static override flags = ACCOUNTABILITY;

  async run(): Promise<WebhookEndpoint> {
    const { args, flags } = await this.parse(WebhookEndpointsEnable);
    const { webhookEndpoints } = await this.installation();
    const { actor, reason } = flags;
    const endpoint = await webhookEndpoints.switchOn(args.id, { actor, reason });
    this.log(`Endpoint ${endpoint.id} is ${endpoint.status}`);
    this.note(`Next: lastcall webhook-endpoints redeliver ${endpoint.id} --reason TEXT`);
    return endpoint;
  }
}
