export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function medianOf<T>(items: readonly T[], value: (item: T) => number): number {
  return median(items.map(value));
}

/** Nearest rank; `p` from 0 to 100. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(1, Math.ceil((p / 100) * sorted.length));
  return sorted[rank - 1] ?? NaN;
}
