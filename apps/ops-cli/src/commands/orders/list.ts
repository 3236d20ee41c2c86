import { Flags } from '@oclif/core';
import type { OrderView, Page } from '@app/orders';
import { usageFailure } from '../../command-failure';
import { amountRange, instant, pageFlags } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { instantText } from '../../text/instant';
import { statusText } from '../../text/status';
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
  static override purpose = 'look' as const;
  static override summary = 'List orders, newest first';
  static override examples = [
    '<%= config.bin %> orders list --status pending_payment --overdue',
    '<%= config.bin %> orders list --customer ann --since 7d --json',
    '<%= config.bin %> orders list --status paid,shipped --sku TEA-SENCHA --amount 1000..2000',
  ];
  static override flags = {
    status: Flags.option({
      description: 'only in this status, or one of several',
      options: STATUSES,
      multiple: true,
      delimiter: ',',
    })(),
    overdue: Flags.boolean({ description: 'only unpaid ones whose deadline has passed' }),
    customer: Flags.string({ description: "only this customer's", helpValue: 'ID' }),
    sku: Flags.string({ description: 'only with a line of it' }),
    amount: amountRange({ description: 'only of this amount, in minor units' }),
    id: Flags.string({
      description: 'only whose id begins so',
      helpValue: 'PREFIX',
      parse: async (text) => {
        const { length } = text.replaceAll('-', '');
        if (/^[0-9a-f][0-9a-f-]{0,35}$/i.test(text) && length <= 32) return text;
        throw usageFailure(
          `"${text}" is not how an id begins: at most 32 digits or a to f, and hyphens`,
        );
      },
    }),
    since: instant({ description: 'only placed since then' }),
    until: instant({ description: 'only placed before' }),
    ...pageFlags('an order'),
  };

  async run(): Promise<Page<OrderView>> {
    const { flags } = await this.parse(OrdersList);
    const look = await this.look();
    const { customer: customerId, id: idPrefix, status, limit } = flags;
    const filter = { customerId, idPrefix, status, sku: flags.sku, amount: flags.amount };
    const when = { since: flags.since, until: flags.until, overdue: flags.overdue };
    // A page of the search ends early where matches are rare: here it is filled.
    const items: OrderView[] = [];
    for (let cursor: string | null | undefined = flags.cursor; ;) {
      const left = limit - items.length;
      const page = await look.searchOrders({
        ...filter,
        ...when,
        limit: left,
        cursor: cursor ?? undefined,
      });
      items.push(...page.items);
      cursor = page.nextCursor;
      if (cursor !== null && items.length < limit) continue;
      return this.showPage({ items, nextCursor: cursor }, ordersTable, 'No order matches');
    }
  }
}

function ordersTable(orders: readonly OrderView[]): string {
  return table(orders, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => statusText(status) },
    { title: 'CUSTOMER', value: ({ customerId }) => customerId },
    {
      title: 'AMOUNT',
      value: ({ amount, currency }) => moneyText(amount, currency),
      align: 'right',
    },
    { title: 'PLACED', value: ({ createdAt }) => instantText(createdAt) },
    { title: 'DEADLINE', value: dueText },
    { title: 'WHY CLOSED', value: ({ closeReason }) => closeReason },
  ]);
}
