const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Longest duration accepted: ten years keeps every instant inside what Date and Postgres share. */
export const LONGEST_DURATION_MS = 3_650 * UNIT_MS.d;

/** Parses `250ms`, `10s`, `10m`, `2h` or `30d` into milliseconds; undefined when it is none, or too long. */
export function parseDuration(text: string): number | undefined {
  const durationMs = durationIn(text);
  return durationMs <= LONGEST_DURATION_MS ? durationMs : undefined;
}

/** True for a duration that is longer than {@link LONGEST_DURATION_MS}. */
export const isTooLong = (text: string): boolean => durationIn(text) > LONGEST_DURATION_MS;

/** As {@link parseDuration} reads it, in the largest unit that divides it: `90s`, `10m`, `0ms`. */
export function durationText(durationMs: number): string {
  const units = Object.entries(UNIT_MS).reverse();
  const [unit, unitMs] = units.find(([, ms]) => durationMs > 0 && durationMs % ms === 0) ?? [
    'ms',
    1,
  ];
  return `${durationMs / unitMs}${unit}`;
}

/** In milliseconds; NaN when it is none. */
function durationIn(text: string): number {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
