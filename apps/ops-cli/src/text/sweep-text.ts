import type { ShardedSweepReport, ShardReport } from '@app/timeout';
import { facts, table } from './table';
import { countText, durationText } from './wording';

/** What a sweep came to, in the words of the contract. */
export interface SweepTotals {
  readonly found: number;
  /** Of all kinds. */
  readonly handled: number;
  /** Of `handled`, by kind. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Orders among `handled` whose payment window was over: closed, or behind their provider's answer. */
  readonly closed: number;
  readonly lost: number;
  readonly putBack: number;
  readonly failed: number;
  readonly oldestLagMs: number;
}

/** One value a line; `more` stands behind what every sweep says. */
export function sweepText(
  totals: SweepTotals,
  more: readonly (readonly [string, string | number])[],
): string {
  return facts([
    ['found', totals.found],
    ['handled', totals.handled],
    ['of these', kindsText(totals.kinds)],
    ['lost', totals.lost],
    ['put back', totals.putBack],
    ['failed', totals.failed],
    ['oldest lag', durationText(totals.oldestLagMs)],
    ...more,
  ]);
}

/** Nothing where there are none. */
function kindsText(kinds: Readonly<Record<string, number>>): string | null {
  const all = Object.entries(kinds).map(([kind, count]) => `${kind} ${count}`);
  return all.length > 0 ? all.join(', ') : null;
}

/** Whether what was overdue was handled in time, and if not, why not. */
export function serviceLevelText(report: ShardedSweepReport, withinMs: number): string {
  const level = `everything overdue within ${durationText(withinMs)}`;
  if (report.isWithinServiceLevel) return `met: ${level}`;
  const why = report.left > 0 ? `${countText(report.left, 'deadline')} left` : 'took longer';
  return `missed: ${level} (${report.hasEnded ? why : 'not ended'})`;
}

export function shardsText(shards: readonly ShardReport[]): string {
  return table(shards, [
    { title: 'SHARD', value: ({ shard }) => shard, align: 'right' },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'STATE', value: ({ state }) => state },
    { title: 'DUE', value: ({ due }) => due, align: 'right' },
    { title: 'FOUND', value: ({ found, failed }) => found + failed, align: 'right' },
    { title: 'HANDLED', value: ({ changed }) => changed, align: 'right' },
    { title: 'FAILED', value: ({ failed }) => failed, align: 'right' },
    { title: 'LEFT', value: ({ left }) => left, align: 'right' },
    { title: 'OLDEST LAG', value: ({ oldestLagMs }) => durationText(oldestLagMs), align: 'right' },
    {
      title: 'TOOK',
      value: ({ tookMs }) => (tookMs === null ? null : durationText(tookMs)),
      align: 'right',
    },
    { title: 'RAN BY', value: ({ ranBy }) => ranBy.join(', ') },
  ]);
}
