import { backoffMs } from './webhook-backoff';

const NOW_MS = Date.parse('2030-01-01T00:00:00Z');
const luckiest = () => 0;
const unluckiest = () => 1;

it.each([
  [1, 100, 200],
  [2, 200, 400],
  [8, 12_800, 25_600],
  [9, 15_000, 30_000],
  [5000, 15_000, 30_000],
])('waits after %d failures between %d and %d ms', (failures, shortestMs, longestMs) => {
  expect(backoffMs(failures, undefined, NOW_MS, luckiest)).toBe(shortestMs);
  expect(backoffMs(failures, undefined, NOW_MS, unluckiest)).toBe(longestMs);
});

it.each([
  ['2', 2100],
  ['Tue, 01 Jan 2030 00:00:30 GMT', 30_100],
  ['Tue, 01 Jan 2019 00:00:00 GMT', 100],
  ['999999', 300_100],
])('comes back after Retry-After: %s', (retryAfter, delayMs) => {
  expect(backoffMs(9, retryAfter, NOW_MS, luckiest)).toBe(delayMs);
});

it('does not care for a Retry-After it cannot read', () => {
  expect(backoffMs(1, 'later', NOW_MS, luckiest)).toBe(100);
});
