import type { OrderDetailsView, OrderView } from '@app/orders';
import { idArg } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { dueText } from '../../text/order-text';
import { paint } from '../../text/paint';
import { facts, table } from '../../text/table';
import { durationText, moneyText } from '../../text/wording';

export default class OrdersShow extends OpsCommand {
  static override summary = 'Show all there is to know of an order, and change nothing';
  static override description =
    'What it is, its history (who changed it, when, why), payments, refunds, deadline and alarm.';
  static override examples = ['<%= config.bin %> orders show 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f'];
  static override args = { id: idArg('an order') };

  async run(): Promise<OrderDetailsView> {
    const { args } = await this.parse(OrdersShow);
    const { orderDetails } = await this.installation();
    const details = await orderDetails.read(args.id);
    this.log(describe(details));
    return details;
  }
}

function describe(details: OrderDetailsView): string {
  const { order, history, refunds, deadlines, held } = details;
  const sections: [string, string][] = [
    ['Order', orderFacts(details)],
    [
      'Lines',
      table(order.items, [
        { title: 'SKU', value: ({ sku }) => sku },
        { title: 'QUANTITY', value: ({ quantity }) => quantity, align: 'right' },
        {
          title: 'UNIT PRICE',
          value: ({ unitPrice }) => moneyText(unitPrice, order.currency),
          align: 'right',
        },
      ]),
    ],
    [
      'History',
      table(history, [
        { title: 'AT', value: ({ at }) => at },
        { title: 'FROM', value: ({ from }) => from },
        { title: 'TO', value: ({ to }) => to },
        { title: 'BY', value: ({ by, actor }) => (actor ? `${by} (${actor})` : by) },
        { title: 'WHY', value: ({ reason }) => reason },
      ]),
    ],
    [
      'Payments',
      order.payments.length === 0
        ? 'none'
        : table(order.payments, [
            { title: 'ID', value: ({ id }) => id },
            { title: 'STATUS', value: ({ status }) => status },
            {
              title: 'AMOUNT',
              value: ({ amount, currency }) => moneyText(amount, currency),
              align: 'right',
            },
            { title: 'PAID AT', value: ({ paidAt }) => paidAt },
            {
              title: 'AT THE PROVIDER',
              value: ({ provider, providerPaymentId }) => `${provider} ${providerPaymentId ?? '?'}`,
            },
            { title: 'ON HOLD', value: ({ holdReason }) => holdReason },
          ]),
    ],
    [
      'Refunds',
      refunds.length === 0
        ? 'none'
        : table(refunds, [
            { title: 'ID', value: ({ id }) => id },
            { title: 'STATUS', value: ({ status }) => status },
            {
              title: 'AMOUNT',
              value: ({ amount, currency }) => moneyText(amount, currency),
              align: 'right',
            },
            { title: 'WHY', value: ({ reason }) => reason },
            { title: 'ATTEMPT', value: ({ attempt }) => attempt, align: 'right' },
            { title: 'ERROR', value: ({ error }) => error },
          ]),
    ],
    [
      'Deadlines',
      deadlines.length === 0
        ? 'none'
        : table(deadlines, [
            { title: 'KIND', value: ({ kind }) => kind },
            { title: 'DUE AT', value: ({ dueAt }) => dueAt },
            { title: 'FAILURES', value: ({ failures }) => failures, align: 'right' },
            {
              title: 'ALARM',
              value: ({ alarm, alarmAt }) => (alarmAt ? `rings at ${alarmAt}` : alarm),
            },
          ]),
    ],
  ];
  if (held.length > 0) {
    sections.push([
      'Held deadlines',
      table(held, [
        { title: 'KIND', value: ({ kind }) => kind },
        { title: 'FAILURES', value: ({ failures }) => failures, align: 'right' },
        { title: 'ERROR', value: ({ error }) => error },
      ]),
    ]);
  }
  return sections.map(([title, text]) => `${paint.heading(title)}\n${text}`).join('\n\n');
}

function orderFacts({ order, lagMs }: OrderDetailsView): string {
  return facts([
    ['id', order.id],
    ['customer', order.customerId],
    ['status', order.status],
    ['close reason', order.closeReason],
    ['amount', moneyText(order.amount, order.currency)],
    ['balance', balanceText(order)],
    ['placed', order.createdAt],
    ['pay by', order.payBy],
    ['closes at', order.closesAt],
    ['deadline', dueText(order)],
    ['paid', order.paidAt],
    ['closed', order.closedAt],
    ['closed late by', lagMs === null ? null : durationText(lagMs)],
    ['canceled', order.canceledAt],
    ['shipped', order.shippedAt],
    ['completed', order.completedAt],
  ]);
}

/** What the payments hold; null while no money has moved. */
function balanceText({ balance, currency }: OrderView): string | null {
  if (balance.captured === 0) return null;
  const parts = (['captured', 'refunded', 'disputed', 'held'] as const).filter(
    (part) => part === 'captured' || balance[part] !== 0,
  );
  return parts.map((part) => `${part} ${moneyText(balance[part], currency)}`).join(', ');
}
