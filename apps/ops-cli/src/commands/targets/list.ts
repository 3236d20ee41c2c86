import { Flags } from '@oclif/core';
import type { TargetWait, UnlistedWaits } from '@app/orders/look';
import { OpsCommand } from '../../ops-command';
import { openTargets } from '../../open-targets';
import { paint } from '../../text/paint';
import { table } from '../../text/table';
import { distanceText, moneyText } from '../../text/wording';

export default class TargetsList extends OpsCommand {
  static override purpose = 'look' as const;
  static override summary = "List what waits for a person, of orders in a shop's own tables";
  static override description =
    'For a shop with close targets: orders whose provider never answers, refunds, webhooks, money on hold, ' +
    'held deadlines; what waits longest first. targets settle ends each.';
  static override examples = [
    '<%= config.bin %> targets list --overdue',
    '<%= config.bin %> targets list --json',
  ];
  static override flags = {
    overdue: Flags.boolean({ description: 'only what has waited for longer than it should' }),
    limit: Flags.integer({
      description: 'at most so many of each kind',
      default: 200,
      min: 1,
      max: 10_000,
    }),
  };

  async run(): Promise<{ items: TargetWait[]; unlisted: UnlistedWaits[] }> {
    const { flags } = await this.parse(TargetsList);
    const targets = await openTargets(await this.environment());
    try {
      const { overdue, limit } = flags;
      const { items, unlisted } = await targets.list({ overdue, mostOfEach: limit });
      if (items.length === 0) this.note('Nothing waits for a person');
      else this.log(waitsTable(items));
      if (unlisted.length > 0) {
        const counts = unlisted.map(({ what, count }) => `${count} ${what}`).join(', ');
        this.note(`Not listed: ${counts}. More: --limit NUMBER`);
      }
      return { items, unlisted };
    } finally {
      await targets.close();
    }
  }
}

function waitsTable(waits: readonly TargetWait[]): string {
  const nowMs = Date.now();
  return table(waits, [
    { title: 'ID', value: ({ id }) => id },
    {
      title: 'WAITS',
      value: ({ what, isOverdue }) => (isOverdue ? paint.bad(what) : what),
    },
    { title: 'SINCE', value: ({ since }) => distanceText(since.getTime(), nowMs) },
    { title: 'OF', value: ({ kind, subject }) => [kind, subject].filter(Boolean).join(' ') },
    {
      title: 'MONEY',
      value: ({ amount, currency }) =>
        amount === null || currency === null ? '' : moneyText(amount, currency),
      align: 'right',
    },
    { title: 'WHY', value: ({ detail }) => detail },
    { title: 'END IT BY --as', value: ({ exits }) => exits.join(', ') },
  ]);
}
