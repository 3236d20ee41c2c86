/** What a list answers with: some items, and where the next page begins. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The id of the last item; null when there are no more. */
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
