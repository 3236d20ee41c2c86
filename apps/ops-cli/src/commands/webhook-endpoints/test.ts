import type { Attempt } from '@app/orders';
import { CommandFailure } from '../../command-failure';
import { EXIT } from '../../exit-code';
import { idArg } from '../../filters';
import { OpsCommand } from '../../ops-command';

export default class WebhookEndpointsTest extends OpsCommand {
  static override summary = 'Send a test event to an endpoint now, once, and tell how it went';
  static override examples = [
    '<%= config.bin %> webhook-endpoints test 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f',
  ];
  static override args = { id: idArg('a webhook endpoint') };

  async run(): Promise<Attempt> {
    const { args } = await this.parse(WebhookEndpointsTest);
    const { webhookEndpoints } = await this.installation();
    const attempt = await webhookEndpoints.test(args.id);
    if (attempt.isDelivered) {
      this.log(`Delivered: it answered ${attempt.answer} after ${attempt.tookMs} ms`);
      return attempt;
    }
    throw new CommandFailure({
      ...{ code: 'webhook_not_delivered', exitCode: EXIT.refused },
      what: 'The test event was not delivered',
      why: attempt.error ?? undefined,
      next: `mend the other side, then: lastcall webhook-endpoints test ${args.id}`,
      fields: { ...attempt },
    });
  }
}
