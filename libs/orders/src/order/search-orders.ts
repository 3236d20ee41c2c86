import type { OrderView } from './order';
import type { OrderStatus } from './order.lifecycle';
import { type Queryable, readOrders } from './order-rows';
import type { Page } from './page';
import { uuidsBetween, uuidsFrom } from './uuid';

export interface OrderFilter {
  readonly customerId?: string | undefined;
  /** One, or any of several. */
  readonly status?: OrderStatus | readonly OrderStatus[] | undefined;
  /** Only orders with a line of it. */
  readonly sku?: string | undefined;
  /** In minor units; both ends belong to the range. */
  readonly amount?: AmountRange | undefined;
  /** How the id begins; hyphens do not matter. */
  readonly idPrefix?: string | undefined;
  /** True: only orders whose payment deadline has passed and that are still unpaid. */
  readonly overdue?: boolean | undefined;
  /** Placed at this instant or later. */
  readonly since?: Date | undefined;
  /** Placed before this instant. */
  readonly until?: Date | undefined;
  readonly limit: number;
  /** `nextCursor` of the page before: the id of the last order looked at. */
  readonly cursor?: string | undefined;
}

export interface AmountRange {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/**
 * One page looks at so many orders. No index serves status, sku or amount (docs/adr/0023): so a page
 * that finds little ends early, and its cursor tells where to go on.
 */
const LOOKED_AT = 20_000;

/**
 * An id carries the time of the process that placed the order, `created_at` the database's: so far
 * apart may they be for `since` and `until` to find the order all the same.
 */
const CLOCKS_DIFFER_MS = 60 * 60_000;

/**
 * Orders that match, newest first. A page may hold fewer than `limit`, even none, where matches are
 * rare: there are no more when `nextCursor` is null.
 */
export async function searchOrders(sql: Queryable, filter: OrderFilter): Promise<Page<OrderView>> {
  const { limit } = filter;
  const params: unknown[] = [];
  const param = (value: unknown): string => `$${params.push(value)}`;
  const { within, newestFirst, downTo } = walkOf(filter, param);
  const wanted = conditionsOf(filter, param);
  const endsAt = wanted.length > 0 ? await endOfWalk(sql, within, newestFirst, params) : undefined;
  if (endsAt !== undefined) within.push(downTo(endsAt));
  const rows = await sql.rows<{ id: string }>(
    `SELECT o.id FROM orders o ${where([...within, ...wanted])}
      ORDER BY ${newestFirst} LIMIT ${limit + 1}`,
    params,
  );
  const ids = rows.slice(0, limit).map(({ id }) => id);
  const orders = await readOrders(sql, ids);
  return {
    items: ids.flatMap((id) => orders.get(id) ?? []),
    nextCursor: rows.length > limit ? (ids.at(-1) ?? null) : (endsAt ?? null),
  };
}

type Param = (value: unknown) => string;

/** Where to walk: along the key, or along the index of one customer's orders. */
function walkOf(
  { customerId, cursor, idPrefix = '', since, until }: OrderFilter,
  param: Param,
): { within: string[]; newestFirst: string; downTo: (id: string) => string } {
  // Compared as a pair, and sorted by it: so no plan walks along everybody's orders.
  const [key, of, newestFirst] =
    customerId === undefined
      ? ['o.id', (id: string) => param(id), 'o.id DESC']
      : [
          '(o.customer_id, o.id)',
          (id: string) => `(${param(customerId)}, ${param(id)}::uuid)`,
          'o.customer_id DESC, o.id DESC',
        ];
  const [first, last] = uuidsFrom(idPrefix);
  const [oldest, newest] = uuidsBetween(
    since && new Date(since.getTime() - CLOCKS_DIFFER_MS),
    until && new Date(until.getTime() + CLOCKS_DIFFER_MS),
  );
  const downTo = (id: string): string => `${key} >= ${of(id)}`;
  const within = [
    downTo(first > oldest ? first : oldest),
    `${key} <= ${of(last < newest ? last : newest)}`,
  ];
  if (cursor !== undefined) within.push(`${key} < ${of(cursor)}`);
  return { within, newestFirst, downTo };
}

/** What only the order itself tells. */
function conditionsOf(filter: OrderFilter, param: Param): string[] {
  const { status, sku, amount, since, until, overdue } = filter;
  const conditions: string[] = [];
  if (status !== undefined) conditions.push(`o.status = ANY (${param([status].flat())}::text[])`);
  if (amount?.min !== undefined) conditions.push(`o.amount >= ${param(amount.min)}`);
  if (amount?.max !== undefined) conditions.push(`o.amount <= ${param(amount.max)}`);
  if (since !== undefined) conditions.push(`o.created_at >= ${param(since)}`);
  if (until !== undefined) conditions.push(`o.created_at < ${param(until)}`);
  if (overdue) {
    conditions.push(`o.status IN ('pending_payment', 'closing') AND o.closes_at <= now()`);
  }
  // A value, not a join: a join could be planned from the lines, and there are more of them.
  if (sku !== undefined) {
    conditions.push(`(SELECT i.sku FROM order_items i
                       WHERE i.order_id = o.id AND i.sku = ${param(sku)}) IS NOT NULL`);
  }
  return conditions;
}

/** The last order that this page may look at; undefined where the walk comes to its own end. */
async function endOfWalk(
  sql: Queryable,
  within: readonly string[],
  newestFirst: string,
  params: readonly unknown[],
): Promise<string | undefined> {
  const [last] = await sql.rows<{ id: string }>(
    `SELECT o.id FROM orders o ${where(within)}
      ORDER BY ${newestFirst} OFFSET ${LOOKED_AT - 1} LIMIT 1`,
    params.slice(0, numberOfParams(within)),
  );
  return last?.id;
}

const where = (conditions: readonly string[]): string =>
  conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';

/** Those of the walk come first: Postgres refuses parameters that no statement names. */
const numberOfParams = (conditions: readonly string[]): number =>
  Math.max(0, ...[...conditions.join(' ').matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
