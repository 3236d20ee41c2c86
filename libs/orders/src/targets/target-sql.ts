/** A database as waits and money of close targets need it: a transaction, or a connection. */
export interface TargetSql {
  query<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
}

/** An instant as a column that everybody reads alike: a host may have told node-postgres to read instants as it likes. */
export const inMs = (instant: string): string =>
  `(floor(extract(epoch FROM ${instant}) * 1000))::bigint::text`;

/** The database's now. */
export async function nowMsBy(sql: TargetSql): Promise<number> {
  const [clock] = await sql.query<{ now_ms: string }>(`SELECT ${inMs('now()')} AS now_ms`);
  return Number((clock as { now_ms: string }).now_ms);
}
