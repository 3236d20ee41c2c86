import { Args, Flags } from '@oclif/core';
import type { WithSecret } from '@app/orders';
import { usageFailure } from '../../command-failure';
import { accountableAs, OpsCommand } from '../../ops-command';
import { secretText } from '../../text/endpoints-text';

export default class WebhookEndpointsCreate extends OpsCommand {
  static override aliases = ['webhook-endpoints:add'];
  static override summary = 'Send events to a system of the shop from now on';
  static override description =
    'Prints the secret that its webhooks are signed with, this once. docs/events.md tells of the format.';
  static override examples = [
    '<%= config.bin %> webhook-endpoints create https://shop.example/lastcall --reason "the warehouse"',
    '<%= config.bin %> webhook-endpoints create https://shop.example/lastcall --events order.paid,order.closed --reason "mails"',
  ];
  static override args = {
    url: Args.string({ description: 'https address', required: true, ignoreStdin: true }),
  };
  static override flags = {
    ...accountableAs('webhook-endpoints create'),
    events: Flags.string({
      description: 'types of events, with commas between; all unless given',
      default: ['*'],
      multiple: true,
      delimiter: ',',
      helpValue: 'TYPE',
    }),
  };

  async run(): Promise<WithSecret> {
    const { args, flags } = await this.parse(WebhookEndpointsCreate);
    const { ALL_EVENTS, EVENT_TYPES } = await import('@app/orders');
    const known: readonly string[] = [ALL_EVENTS, ...EVENT_TYPES];
    const unknown = flags.events.filter((type) => !known.includes(type));
    if (unknown.length > 0) {
      throw usageFailure(
        `--events ${unknown.join(', ')} is unknown`,
        `there are ${known.join(', ')}`,
      );
    }
    const { webhookEndpoints } = await this.installation();
    const { events, actor, reason } = flags;
    const created = await webhookEndpoints.create({ url: args.url, events }, { actor, reason });
    this.log(secretText(created));
    this.note(`Next: lastcall webhook-endpoints test ${created.endpoint.id}`);
    return created;
  }
}
