import type { HeldPayment } from '@app/orders';
import { PAGE_FLAGS, parseId } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { table } from '../../text/table';
import { moneyText } from '../../text/wording';

export default class PaymentsList extends OpsCommand {
  static override summary = 'List payments on hold, newest first';
  static override examples = ['<%= config.bin %> payments list --json'];
  static override flags = { ...PAGE_FLAGS };

  async run(): Promise<{ items: HeldPayment[]; nextCursor: string | null }> {
    const { flags } = await this.parse(PaymentsList);
    const cursor = flags.cursor && parseId(flags.cursor, 'a payment');
    const { heldPayments } = await this.installation();
    const page = await heldPayments.list({ limit: flags.limit, cursor });
    if (page.items.length === 0) this.note('No payment is on hold');
    else this.log(paymentsTable(page.items));
    if (page.nextCursor) this.note(`More: --cursor ${page.nextCursor}`);
    return page;
  }
}

function paymentsTable(payments: readonly HeldPayment[]): string {
  return table(payments, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'ON HOLD FOR', value: ({ holdReason }) => holdReason },
    {
      title: 'ASKED FOR',
      value: ({ amount, currency }) => moneyText(amount, currency),
      align: 'right',
    },
    {
      title: 'TAKEN',
      value: ({ capturedAmount, capturedCurrency }) => moneyText(capturedAmount, capturedCurrency),
      align: 'right',
    },
    { title: 'ORDER', value: ({ orderId }) => orderId },
    { title: 'IS', value: ({ orderStatus }) => orderStatus },
  ]);
}
