import { Flags } from '@oclif/core';
import type { OrderView, Page } from '@app/orders';
import { instant, pageFlags } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { table } from '../../text/table';
import { moneyText } from '../../text/wording';
import { dueText } from '../../text/order-text';

const STATUSES = [
  'pending_payment',
  'closing',
  'paid',
  'shipped',
  'completed',
  'closed',
  'canceled',
] as const satisfies readonly OrderView['status'][];

export default class OrdersList extends OpsCommand {
  static override summary = 'List orders, newest first';
  static override examples = [
    '<%= config.bin %> orders list --status pending_payment --overdue',
    '<%= config.bin %> orders list --customer ann --since 7d --json',
  ];
  static override flags = {
    status: Flags.option({ description: 'only in this status', options: STATUSES })(),
    overdue: Flags.boolean({ description: 'only unpaid ones whose deadline has passed' }),
    customer: Flags.string({ description: "only this customer's", helpValue: 'ID' }),
    since: instant({ description: 'only placed since then' }),
    ...pageFlags('an order'),
  };

  async run(): Promise<Page<OrderView>> {
    const { flags } = await this.parse(OrdersList);
    const { orders } = await this.installation();
    const page = await orders.list({
      status: flags.status,
      overdue: flags.overdue,
      customerId: flags.customer,
      since: flags.since,
      limit: flags.limit,
      cursor: flags.cursor,
    });
    return this.showPage(page, ordersTable, 'No order matches');
  }
}

function ordersTable(orders: readonly OrderView[]): string {
  return table(orders, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'CUSTOMER', value: ({ customerId }) => customerId },
    {
      title: 'AMOUNT',
      value: ({ amount, currency }) => moneyText(amount, currency),
      align: 'right',
    },
    { title: 'PLACED', value: ({ createdAt }) => createdAt },
    { title: 'DEADLINE', value: dueText },
    { title: 'WHY CLOSED', value: ({ closeReason }) => closeReason },
  ]);
}
