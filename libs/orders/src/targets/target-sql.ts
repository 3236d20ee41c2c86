/** A database as waits and money of close targets need it: a transaction, or a connection. */
export interface TargetSql {
  query<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
}
