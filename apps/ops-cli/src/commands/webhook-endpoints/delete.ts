import { Flags } from '@oclif/core';
import { confirmTyped } from '../../confirm';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';

export default class WebhookEndpointsDelete extends OpsCommand {
  static override aliases = ['webhook-endpoints:remove'];
  static override summary = 'Send nothing to an endpoint any more, and forget what waits for it';
  static override examples = [
    '<%= config.bin %> webhook-endpoints delete 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "replaced"',
  ];
  static override args = { id: idArg('a webhook endpoint') };
  static override flags = {
    ...ACCOUNTABILITY,
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<{ id: string }> {
    const { args, flags } = await this.parse(WebhookEndpointsDelete);
    const { webhookEndpoints } = await this.installation();
    const { url } = await webhookEndpoints.read(args.id);
    if (!flags.yes) await confirmTyped(this.ctor, `${url} will hear of nothing any more`, 'delete');
    const { actor, reason } = flags;
    const deleted = await webhookEndpoints.delete(args.id, { actor, reason });
    this.log(`Endpoint ${deleted.id} is deleted`);
    return deleted;
  }
}
