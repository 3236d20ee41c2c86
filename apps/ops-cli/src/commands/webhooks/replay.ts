import type { WebhookEntry } from '@app/orders';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';

export default class WebhooksReplay extends OpsCommand {
  static override summary = 'Apply a stored webhook again that is held or was never applied';
  static override description =
    'Safe to repeat: applying a webhook twice has one effect. One that was processed is refused.';
  static override examples = [
    '<%= config.bin %> webhooks replay 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "payment row restored"',
  ];
  static override args = { id: idArg('a webhook') };
  static override flags = { ...ACCOUNTABILITY };

  async run(): Promise<WebhookEntry> {
    const { args, flags } = await this.parse(WebhooksReplay);
    const { replayWebhook } = await this.installation();
    const webhook = await replayWebhook.replay(args.id, flags);
    this.log(`Webhook ${webhook.id} (${webhook.type}) is received again`);
    this.note('A worker applies it now. Next: lastcall webhooks list');
    return webhook;
  }
}
