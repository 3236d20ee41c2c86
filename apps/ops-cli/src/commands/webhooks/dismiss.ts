import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';

export default class WebhooksDismiss extends OpsCommand {
  static override summary = 'End the wait of a held webhook that nothing can be done about';
  static override description =
    'The webhook stays in the inbox, as processed. One that tells of money on hold is ended by ' +
    'payments settle instead.';
  static override examples = [
    '<%= config.bin %> webhooks dismiss 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "a payment of the old shop"',
  ];
  static override args = { id: idArg('a webhook') };
  static override flags = { ...ACCOUNTABILITY };

  async run(): Promise<{ readonly id: string }> {
    const { args, flags } = await this.parse(WebhooksDismiss);
    const { dismissWebhook } = await this.installation();
    const dismissed = await dismissWebhook.dismiss(args.id, flags);
    this.log(`Webhook ${dismissed.id} is dismissed`);
    return dismissed;
  }
}
