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
  const reserved = [...new Set(kinds)].filter(isOfOrders);
  if (reserved.length === 0) return;
  if (await areOrdersHere(schema, query)) throw new ReservedKindError(reserved, schema);
}

/** Those of these kinds that hosts may handle: where there are orders, theirs are not among them. */
export async function kindsOfHosts(
  kinds: readonly string[],
  schema: string,
  query: Query,
): Promise<readonly string[]> {
  const others = kinds.filter((kind) => !isOfOrders(kind));
  if (others.length === kinds.length) return kinds;
  return (await areOrdersHere(schema, query)) ? others : kinds;
}

/** Kinds of the order module's of which a host has deadlines that wait in this schema. */
export async function kindsArmedByHosts(schema: string, query: Query): Promise<readonly string[]> {
  const [{ here }] = (await query(ARE_HOSTS_HERE, [schema])) as [{ readonly here: boolean }];
  if (!here) return [];
  const sql = `SELECT kind FROM unnest($1::text[]) AS kind
    WHERE EXISTS (SELECT FROM "${schema}".timeout_subjects s WHERE s.kind = kind.kind)`;
  const rows = (await query(sql, [KINDS_OF_ORDERS])) as { readonly kind: string }[];
  return rows.map(({ kind }) => kind);
}

const isOfOrders = (kind: string): boolean => KINDS_OF_ORDERS.includes(kind);

async function areOrdersHere(schema: string, query: Query): Promise<boolean> {
  const [row] = await query(ARE_ORDERS_HERE, [schema]);
  return (row as { readonly here: boolean }).here;
}

const ARE_HOSTS_HERE = `SELECT to_regclass(format('%I.timeout_subjects', $1::text)) IS NOT NULL AS here`;

/** A table that nobody else has, as somebody may have one of orders or of their events. */
const ARE_ORDERS_HERE = `SELECT to_regclass(format('%I.stock_folding', $1::text)) IS NOT NULL AS here`;
