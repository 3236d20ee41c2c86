import type { StatisticsView } from '@app/orders';
import { statisticsText } from './statistics-text';

const VIEW: StatisticsView = {
  at: '2026-01-02T03:04:05.000Z',
  open: { total: 12, isMore: false, dueIn1m: 3, dueIn5m: 5, dueIn10m: 12, dueByMinute: [] },
  ...{ closing: 0, overdueDeadlines: 0, oldestLagMs: 0, heldDeadlines: 0 },
  ...{ heldWebhooks: 0, heldPayments: 0, relayAgeSeconds: 0 },
  lag: { p50Ms: 20, p99Ms: 40, maxMs: 90 },
  closedBy: { timer: 7 },
  closesCountedTo: '2026-01-02T03:04:05.000Z',
  races: { wonInGrace: 0, lost: 0 },
  refunds: { requested: 0, pending: 0, succeeded: 0, failed: 0, needs_attention: 0, canceled: 0 },
  timer: { alarms: 4, workersAlive: 1, workersSilent: 0, lastSweepAgoMs: 1_000 },
};

/** What stands behind a word. */
function fact(view: StatisticsView, word: string): string | undefined {
  const line = statisticsText(view)
    .split('\n')
    .find((one) => one.trim().startsWith(word));
  return line?.trim().slice(word.length).trim();
}

it('tells of each figure that was cut off that it may be more', () => {
  const open = { ...VIEW.open, isMore: true };
  const words = ['open', 'due in 1 min', 'due in 5 min', 'due in 10 min'];
  expect(words.map((word) => fact({ ...VIEW, open }, word))).toEqual([
    ...['more than 12', '3', '5', 'more than 12'],
  ]);
  expect(words.map((word) => fact(VIEW, word))).toEqual(['12', '3', '5', '12']);
});

it('tells no lag where nothing was closed by its deadline', () => {
  const lag = 'lag p50 / p99 / max';
  expect(fact(VIEW, lag)).toBe('20 ms / 40 ms / 90 ms');
  expect(fact({ ...VIEW, closedBy: { operator: 3 } }, lag)).toBe('none closed');
});
