import { Flags } from '@oclif/core';
import type { WithSecret } from '@app/orders';
import { usageFailure } from '../../command-failure';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { secretText } from '../../text/endpoints-text';

export default class WebhookEndpointsRotate extends OpsCommand {
  static override summary = 'Sign with a new secret, and for a while with the present one as well';
  static override description = 'Prints the new secret, this once.';
  static override examples = [
    '<%= config.bin %> webhook-endpoints rotate 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "yearly"',
    '<%= config.bin %> webhook-endpoints rotate 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --overlap 0s --reason "it was in a log"',
  ];
  static override args = { id: idArg('a webhook endpoint') };
  static override flags = {
    ...ACCOUNTABILITY,
    overlap: Flags.string({
      description: 'for so long both sign; 0s ends the present one at once',
      default: '1d',
      helpValue: '1d',
    }),
  };

  async run(): Promise<WithSecret> {
    const { args, flags } = await this.parse(WebhookEndpointsRotate);
    const { MAX_OVERLAP_MS, parseDuration } = await import('@app/orders');
    const overlapMs = parseDuration(flags.overlap);
    if (overlapMs === undefined || overlapMs > MAX_OVERLAP_MS) {
      throw usageFailure(`--overlap must be a duration such as 12h, at most 7d`);
    }
    const { webhookEndpoints } = await this.installation();
    const { actor, reason } = flags;
    const rotated = await webhookEndpoints.rotate(args.id, overlapMs, { actor, reason });
    this.log(secretText(rotated));
    return rotated;
  }
}
