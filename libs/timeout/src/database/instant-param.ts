const [YEAR_1_MS, YEAR_10000_MS] = [Date.parse('0001-01-01'), Date.parse('+010000-01-01')];

/**
 * Milliseconds since the epoch as a parameter of a statement, for what is compared: what lies outside the years 1 to
 * 9999 is before or after all. Left to node-postgres, an instant of the time before time zones is up to half a minute
 * beside itself, as its offset has seconds.
 */
export function instantParam(ms: number): string {
  if (ms < YEAR_1_MS) return '-infinity';
  return ms < YEAR_10000_MS ? new Date(ms).toISOString() : 'infinity';
}
