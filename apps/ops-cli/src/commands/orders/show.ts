import type { OrderDetailsView } from '@app/orders';
import { idArg } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { orderDetailsText } from '../../text/order-details-text';

export default class OrdersShow extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'Show all there is to know of an order, and change nothing';
  static override description =
    'What it is, its history (who changed it, when, why), payments, refunds, deadline and alarm.';
  static override examples = ['<%= config.bin %> orders show 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f'];
  static override args = { id: idArg('an order') };

  async run(): Promise<OrderDetailsView> {
    const { args } = await this.parse(OrdersShow);
    const details = await (await this.look()).readOrder(args.id);
    this.log(orderDetailsText(details));
    return details;
  }
}
