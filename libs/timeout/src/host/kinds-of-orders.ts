/** The order module's own kinds of deadlines. */
export const KINDS_OF_ORDERS: readonly string[] = [
  ...['payment', 'closing', 'shipment', 'receipt', 'refund', 'webhook'],
];

/** A host's kind has the name of one of the order module's, whose tables are in the same schema. */
export class ReservedKindError extends Error {
  readonly code = 'reserved_kind';

  constructor(kinds: readonly string[], schema: string) {
    const names = kinds.map((kind) => `"${kind}"`).join(', ');
    super(
      `Deadlines of kind ${names} in the schema "${schema}" are those of lastcall's orders, which are there too: ` +
        'each of the two would take what is not its own. Give yours another name, as "shop.payment", ' +
        'or TimeoutModule a schema of its own.',
    );
    this.name = 'ReservedKindError';
  }
}

/** Runs a statement of ours, by whichever library. */
type Query = (sql: string, params: readonly unknown[]) => Promise<readonly unknown[]>;

/**
 * A kind is claimed by its name, whoever has armed it: what one of two finds that is not its own has lost.
 * @throws {ReservedKindError}
 */
export async function assertNotOfOrders(
  kinds: Iterable<string>,
  schema: string,
  query: Query,
): Promise<void> {
  const reserved = [...new Set(kinds)].filter((kind) => KINDS_OF_ORDERS.includes(kind));
  if (reserved.length === 0) return;
  const [row] = await query(ARE_ORDERS_HERE, [schema]);
  if ((row as { readonly here: boolean }).here) throw new ReservedKindError(reserved, schema);
}

/** A table that nobody else has, as somebody may have one of orders or of their events. */
const ARE_ORDERS_HERE = `SELECT to_regclass(format('%I.stock_folding', $1::text)) IS NOT NULL AS here`;
