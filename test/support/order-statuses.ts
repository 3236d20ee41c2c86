import type { Queryable } from '@app/orders';

/** The status of each order, in the order asked for; `none` where there is no such order. */
export async function statusesOf(sql: Queryable, ids: readonly string[]): Promise<string[]> {
  const rows = await sql.rows<{ status: string }>(
    `SELECT coalesce(status, 'none') AS status
       FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, n) LEFT JOIN orders USING (id)
      ORDER BY n`,
    [ids],
  );
  return rows.map(({ status }) => status);
}
