import { decimalsOf } from '@app/orders/look';

/** `850 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`; at most two units. */
export function durationText(durationMs: number): string {
  const sign = durationMs < 0 ? '-' : '';
  const ms = Math.abs(Math.round(durationMs));
  if (ms < 1_000) return `${sign}${ms} ms`;
  if (ms < 10_000) return `${sign}${(ms / 1_000).toFixed(1)} s`;
  const totalSeconds = Math.round(ms / 1_000);
  const parts: [number, string][] = [
    [Math.floor(totalSeconds / 86_400), 'd'],
    [Math.floor(totalSeconds / 3_600) % 24, 'h'],
    [Math.floor(totalSeconds / 60) % 60, 'min'],
    [totalSeconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return sign + shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** Minor units with the currency: `25.98 EUR`. */
export function moneyText(amount: number, currency: string): string {
  const digits = decimalsOf(currency.toUpperCase());
  // What providers name may be anything.
  if (digits === undefined) return `${amount} minor units of "${currency}"`;
  return `${(amount / 10 ** digits).toFixed(digits)} ${currency}`;
}

/** `1 order`, `12 orders`, `1,000 orders`. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** In one unit, for a glance: `3 min ago`, `in 2 h`, `now`. */
export function distanceText(atMs: number, nowMs: number): string {
  const distanceMs = atMs - nowMs;
  const text = durationText(Math.abs(distanceMs)).split(' ').slice(0, 2).join(' ');
  if (Math.abs(distanceMs) < 1_000) return 'now';
  return distanceMs > 0 ? `in ${text}` : `${text} ago`;
}
