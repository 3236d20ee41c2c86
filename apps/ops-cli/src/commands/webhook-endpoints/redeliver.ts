import { Flags } from '@oclif/core';
import { idArg, parseId } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';

export default class WebhookEndpointsRedeliver extends OpsCommand {
  static override summary = 'Send again what an endpoint has missed';
  static override description =
    'All that is dead, 10,000 at a time; or the deliveries that are named, delivered ones too.';
  static override examples = [
    '<%= config.bin %> webhook-endpoints redeliver 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "mended, ticket 12"',
  ];
  static override args = { id: idArg('a webhook endpoint') };
  static override flags = {
    ...ACCOUNTABILITY,
    delivery: Flags.string({
      description: 'only this one; may be given several times',
      helpValue: 'ID',
      multiple: true,
      parse: (text) => parseId(text, 'a delivery'),
    }),
  };

  async run(): Promise<{ redelivered: number }> {
    const { args, flags } = await this.parse(WebhookEndpointsRedeliver);
    const { MAX_REDELIVERED } = await import('@app/orders');
    const { deliveries, webhookEndpoints } = await this.installation();
    const { actor, reason, delivery } = flags;
    // Before: what is done is told also where nothing can be read any more.
    const endpoint = (await webhookEndpoints.list()).find(({ id }) => id === args.id);
    const done = await deliveries.redeliver(args.id, delivery, { actor, reason });
    this.log(
      done.redelivered === 1 ? '1 will be sent again' : `${done.redelivered} will be sent again`,
    );
    if (done.redelivered > 0 && endpoint?.status === 'off') {
      this.note(
        'The endpoint is off: they wait, for three days at the most. ' +
          `Next: lastcall webhook-endpoints enable ${args.id} --reason TEXT`,
      );
    }
    if (done.redelivered === MAX_REDELIVERED) this.note('Others may be dead still: run it again');
    return done;
  }
}
