/** What a list answers with: some items, and where the next page begins. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The last item's place in the list's order: it need not be there any more. Null at the end. */
  readonly nextCursor: string | null;
}

/** The page of `limit` items whose query asked for one row more, to know whether there are more. */
export function pageOf<Item extends { readonly id: string }>(
  rows: readonly Item[],
  limit: number,
): Page<Item> {
  const items = rows.slice(0, limit);
  return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}

/** True for an instant as our answers write it, so that Postgres takes it too. */
export function isInstant(text: string): boolean {
  const atMs = Date.parse(text);
  // The thirtieth of February is the second of March to JavaScript; the year 0 is none to Postgres.
  return !Number.isNaN(atMs) && new Date(atMs).toISOString() === text && !text.startsWith('0000');
}
