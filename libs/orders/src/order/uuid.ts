/** A uuid in its usual form, of either case. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** True when Postgres would take `text` as a uuid in its usual form. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
