import type { HeldPayment, Page } from '@app/orders';
import { pageFlags } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { statusText } from '../../text/status';
import { table } from '../../text/table';
import { moneyText } from '../../text/wording';

export default class PaymentsList extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'List payments on hold, newest first';
  static override examples = ['<%= config.bin %> payments list --json'];
  static override flags = { ...pageFlags('a payment') };

  async run(): Promise<Page<HeldPayment>> {
    const { flags } = await this.parse(PaymentsList);
    const { heldPayments } = await this.installation();
    const page = await heldPayments.list({ limit: flags.limit, cursor: flags.cursor });
    return this.showPage(page, paymentsTable, 'No payment is on hold');
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
    { title: 'IS', value: ({ orderStatus }) => statusText(orderStatus) },
  ]);
}
