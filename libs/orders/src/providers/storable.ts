import { storableText } from '@app/timeout';

/**
 * What a provider says, with what Postgres keeps in no text replaced. It is genuine, and refused it would be sent, or
 * asked for, for ever.
 */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return storableText(value) as T;
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, storable<unknown>(inner)]);
  return Object.fromEntries(entries) as T;
}
