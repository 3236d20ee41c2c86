import type { CanceledOrder } from '@app/orders';
import { idArg } from '../../filters';
import { ACCOUNTABILITY, OpsCommand, REHEARSAL } from '../../ops-command';
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
    ...REHEARSAL,
  };

  async run(): Promise<CancelOutcome> {
    const { args, flags } = await this.parse(OrdersCancel);
    const { actor, reason } = flags;
    const { cancelOrder } = await this.installation();
    const what = ({ order }: CanceledOrder): string =>
      `Order ${args.id} over ${moneyText(order.amount, order.currency)}`;
    return this.carryOut(flags, {
      act: (dryRun) => cancelOrder.cancel(args.id, { actor, reason, dryRun }),
      verdict: (plan, mood) => `${what(plan)} ${mood} be canceled and refunded`,
      word: 'cancel',
      done: (canceled) =>
        `${what(canceled)} is canceled; requested: ${countText(canceled.refundIds.length, 'refund')}`,
      next: () => `lastcall orders show ${args.id}`,
    });
  }
}
