import { Flags } from '@oclif/core';
import type { CreatedRefund } from '@app/orders';
import { confirmTyped } from '../../confirm';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { moneyText } from '../../text/wording';

export interface CreateRefundOutcome extends CreatedRefund {
  readonly dryRun: boolean;
}

export default class RefundsCreate extends OpsCommand {
  static override summary = "Send a part of an order's money back, or all of it";
  static override description =
    'Never more than the order still holds. An order that is not shipped is canceled when nothing ' +
    'is left; its stock goes back.';
  static override examples = [
    '<%= config.bin %> refunds create 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --amount 500 --reason "one cup was broken" --dry-run',
  ];
  static override args = { id: idArg('an order') };
  static override flags = {
    ...ACCOUNTABILITY,
    amount: Flags.integer({
      description: "in minor units of the order's currency",
      min: 1,
      required: true,
    }),
    'dry-run': Flags.boolean({ description: 'run the real transaction and roll it back' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<CreateRefundOutcome> {
    const { args, flags } = await this.parse(RefundsCreate);
    const { actor, reason, amount, 'dry-run': dryRun } = flags;
    const { createRefund } = await this.installation();
    const plan = await createRefund.create(args.id, { actor, reason, amount, dryRun: true });
    const what = `${moneyText(amount, plan.order.currency)} of order ${args.id}`;
    if (dryRun) {
      this.log(`${what} would go back (dry run: nothing was changed)`);
      return { dryRun, ...plan };
    }
    if (!flags.yes) await confirmTyped(`${what} will go back`, 'refund');
    const created = await createRefund.create(args.id, { actor, reason, amount });
    this.log(`${what} will go back; the order is ${created.order.status}`);
    this.note(`Next: lastcall orders show ${args.id}`);
    return { dryRun, ...created };
  }
}
