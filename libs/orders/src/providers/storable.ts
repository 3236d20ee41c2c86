/**
 * What a provider says, with U+FFFD for what Postgres keeps in no text: NUL and half surrogate pairs, which escapes can
 * smuggle in. It is genuine, and refused it would be sent, or asked for, for ever.
 */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd') as T;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, storable<unknown>(inner)]);
  return Object.fromEntries(entries) as T;
}
