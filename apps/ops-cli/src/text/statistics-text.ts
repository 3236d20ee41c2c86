import type { StatisticsView } from '@app/orders';
import { paint } from './paint';
import { facts } from './table';
import { durationText } from './wording';

/** One screen: what waits, how late closes were, who made them, and whether the parts are well. */
export function statisticsText(view: StatisticsView): string {
  const { open, closing, races, refunds, timer } = view;
  const sections: [string, string][] = [
    [
      'Unpaid orders',
      facts([
        ['open', openText(open, open.total)],
        ['due in 1 min', openText(open, open.dueIn1m)],
        ['due in 5 min', openText(open, open.dueIn5m)],
        ['due in 10 min', openText(open, open.dueIn10m)],
        ['closing', closing],
        ['overdue deadlines', alarmIf(view.overdueDeadlines, overdueText(view))],
      ]),
    ],
    [
      'Closes of the last 60 minutes',
      facts([
        ['lag p50 / p99 / max', lagText(view)],
        ['closed by', countsText(view.closedBy)],
        ['counted up to', `${durationText(uncountedMs(view))} ago`],
        ['races', `${races.wonInGrace} paid in the grace period, ${races.lost} paid too late`],
      ]),
    ],
    [
      'Money',
      facts([
        ['refunds', countsText(refunds)],
        ['refunds for you', alarmIf(refunds.needs_attention, String(refunds.needs_attention))],
        ['payments on hold', alarmIf(view.heldPayments, String(view.heldPayments))],
        ['held webhooks', alarmIf(view.heldWebhooks, String(view.heldWebhooks))],
      ]),
    ],
    [
      'Timer',
      facts([
        ['alarms', timer.alarms ?? paint.bad('unknown: no timer store answers')],
        ['workers', workersText(timer)],
        [
          'last heard of',
          timer.lastSweepAgoMs === null ? 'not known' : `${durationText(timer.lastSweepAgoMs)} ago`,
        ],
        ['held deadlines', alarmIf(view.heldDeadlines, String(view.heldDeadlines))],
        ['event relay behind by', durationText(view.relayAgeSeconds * 1_000)],
      ]),
    ],
  ];
  const body = sections.map(([title, text]) => `${paint.heading(title)}\n${text}`).join('\n\n');
  return `${body}\n\n${paint.faint(`at ${view.at}`)}`;
}

/** Never negative: the two instants are of two clocks. */
const uncountedMs = ({ at, closesCountedTo }: StatisticsView): number =>
  Math.max(0, Date.parse(at) - Date.parse(closesCountedTo));

/** What is due last is not counted where there is more: whoever is as many as all that were may be more, too. */
const openText = ({ isMore, total }: StatisticsView['open'], count: number): string =>
  isMore && count === total ? `more than ${count}` : String(count);

/** Nobody was late, and nobody in time, where nothing was closed by its deadline. */
function lagText({ lag, closedBy }: StatisticsView): string {
  const closes = BY_DEADLINE.some((by) => (closedBy[by] ?? 0) > 0);
  return closes ? [lag.p50Ms, lag.p99Ms, lag.maxMs].map(durationText).join(' / ') : 'none closed';
}

const BY_DEADLINE: readonly string[] = ['timer', 'sweep', 'passive'];

function overdueText({ overdueDeadlines, oldestLagMs }: StatisticsView): string {
  return overdueDeadlines === 0
    ? '0'
    : `${overdueDeadlines}, the oldest by ${durationText(oldestLagMs)}`;
}

function workersText({ workersAlive, workersSilent }: StatisticsView['timer']): string {
  const silent = workersSilent > 0 ? paint.bad(`, ${workersSilent} silent`) : '';
  return workersAlive === 0 ? paint.bad(`none alive${silent}`) : `${workersAlive} alive${silent}`;
}

function countsText(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  return parts.length === 0 ? 'none' : parts.map(([name, count]) => `${name} ${count}`).join(', ');
}

function alarmIf(count: number, text: string): string {
  return count > 0 ? paint.bad(text) : text;
}
