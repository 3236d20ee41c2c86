import { Flags } from '@oclif/core';
import type { Extended } from '@app/orders';
import { usageFailure } from '../../command-failure';
import { idArg } from '../../filters';
import { keyFlag, readKey } from '../../idempotency-key';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { instantText } from '../../text/instant';

export default class OrdersExtend extends OpsCommand {
  static override summary = 'Give the customer of an unpaid order more time to pay';
  static override description =
    'Both the payment window and the deadline behind it move, by up to a day at once. An order whose ' +
    'deadline has passed is closed, and cannot be extended.';
  static override examples = [
    '<%= config.bin %> orders extend 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --by 15m --reason "bank was down, case 17"',
  ];
  static override args = { id: idArg('an order') };
  static override flags = {
    ...ACCOUNTABILITY,
    by: Flags.string({
      description: 'how much more time, such as 90s, 15m or 2h',
      helpValue: 'DURATION',
      required: true,
    }),
    'idempotency-key': keyFlag('extension'),
  };

  async run(): Promise<Extended> {
    const { args, flags } = await this.parse(OrdersExtend);
    const { parseDuration } = await import('@app/orders/look');
    const byMs = parseDuration(flags.by);
    if (byMs === undefined) {
      throw usageFailure(`--by must be a duration such as 90s, 15m or 2h, not "${flags.by}"`);
    }
    const idempotencyKey = readKey(flags['idempotency-key']);
    const installation = await this.installation();
    this.wayOn = { idempotencyKey };
    const { actor, reason } = flags;
    const command = { by: 'operator', actor, byMs, reason, idempotencyKey } as const;
    const extended = await installation.extend(args.id, command);
    const { order, replayed } = extended;
    const before = replayed ? ' (this key has extended it before)' : '';
    this.log(`Order ${order.id} can be paid until ${instantText(order.payBy)}${before}`);
    this.note(`Next: lastcall orders show ${order.id}`);
    return extended;
  }
}
