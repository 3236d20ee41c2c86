import { Flags } from '@oclif/core';
import type { CanceledOrder } from '@app/orders';
import { confirmTyped } from '../../confirm';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { countText, moneyText } from '../../text/wording';

export interface CancelOutcome extends CanceledOrder {
  readonly dryRun: boolean;
}

export default class OrdersCancel extends OpsCommand {
  static override summary = 'Cancel a paid order that is not shipped: stock and money go back';
  static override description =
    'Refused while its money is disputed or on hold. An unpaid order is closed by force-close.';
  static override examples = [
    '<%= config.bin %> orders cancel 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f --reason "damaged in the store, case 17" --dry-run',
  ];
  static override args = { id: idArg('an order') };
  static override flags = {
    ...ACCOUNTABILITY,
    'dry-run': Flags.boolean({ description: 'run the real transaction and roll it back' }),
    yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
  };

  async run(): Promise<CancelOutcome> {
    const { args, flags } = await this.parse(OrdersCancel);
    const { actor, reason, 'dry-run': dryRun } = flags;
    const { cancelOrder } = await this.installation();
    const plan = await cancelOrder.cancel(args.id, { actor, reason, dryRun: true });
    const { amount, currency } = plan.order;
    const what = `Order ${args.id} over ${moneyText(amount, currency)}`;
    if (dryRun) {
      this.log(`${what} would be canceled and refunded (dry run: nothing was changed)`);
      return { dryRun, ...plan };
    }
    if (!flags.yes) await confirmTyped(`${what} will be canceled and refunded`, 'cancel');
    const canceled = await cancelOrder.cancel(args.id, { actor, reason });
    const refunds = countText(canceled.refundIds.length, 'refund');
    this.log(`${what} is canceled; requested: ${refunds}`);
    this.note(`Next: lastcall orders show ${args.id}`);
    return { dryRun, ...canceled };
  }
}
