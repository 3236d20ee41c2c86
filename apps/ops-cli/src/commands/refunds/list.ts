import { Flags } from '@oclif/core';
import type { RefundEntry, Page } from '@app/orders';
import { pageFlags } from '../../filters';
import { OpsCommand } from '../../ops-command';
import { statusText } from '../../text/status';
import { table } from '../../text/table';
import { moneyText } from '../../text/wording';

/** By name, so that one that is left out does not compile. */
const STATUSES = {
  requested: true,
  pending: true,
  succeeded: true,
  failed: true,
  needs_attention: true,
  canceled: true,
} as const satisfies Readonly<Record<RefundEntry['status'], true>>;

export default class RefundsList extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = 'List refunds, newest first';
  static override examples = [
    '<%= config.bin %> refunds list --unsettled',
    '<%= config.bin %> refunds list --status needs_attention --json',
  ];
  static override flags = {
    status: Flags.option({
      description: 'only in this status',
      options: Object.keys(STATUSES) as RefundEntry['status'][],
    })(),
    unsettled: Flags.boolean({ description: 'only those that have not succeeded' }),
    ...pageFlags('a refund'),
  };

  async run(): Promise<Page<RefundEntry>> {
    const { flags } = await this.parse(RefundsList);
    const { refunds } = await this.installation();
    const { status, unsettled, limit, cursor } = flags;
    const page = await refunds.list({ status, unsettled, limit, cursor });
    return this.showPage(page, refundsTable, 'No refund matches');
  }
}

function refundsTable(refunds: readonly RefundEntry[]): string {
  return table(refunds, [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => statusText(status) },
    {
      title: 'AMOUNT',
      value: ({ amount, currency }) => moneyText(amount, currency),
      align: 'right',
    },
    { title: 'WHY', value: ({ reason }) => reason },
    { title: 'ATTEMPT', value: ({ attempt }) => attempt, align: 'right' },
    { title: 'ORDER', value: ({ orderId }) => orderId },
    { title: 'ERROR', value: ({ error }) => error },
  ]);
}
