const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Longest duration accepted: ten years keeps every instant inside what Date and Postgres share. */
const MAX_MS = 3_650 * UNIT_MS.d;

/** Parses `250ms`, `10s`, `10m`, `2h` or `30d` into milliseconds; undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text.trim());
  if (!match) return undefined;
  const durationMs = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  return durationMs <= MAX_MS ? durationMs : undefined;
}

/** As {@link parseDuration} reads it, in the largest unit that divides it: `90s`, `10m`, `0ms`. */
export function durationText(durationMs: number): string {
  const units = Object.entries(UNIT_MS).reverse();
  const [unit, unitMs] = units.find(([, ms]) => durationMs > 0 && durationMs % ms === 0) ?? [
    'ms',
    1,
  ];
  return `${durationMs / unitMs}${unit}`;
}
