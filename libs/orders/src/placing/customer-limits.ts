import type { Transaction } from '@app/timeout';
import { ADVISORY_LOCKS } from '../order/advisory-locks';
import type { Settings } from '../config';
import type { LastcallError } from '../order/errors';
import { paused, tooManyOfOne, tooManyOrders, tooManyUnits } from './limit-refusals';
import type { Draft, PlaceRequest } from './write-orders';

type Limits = Pick<
  Settings,
  'MAX_OPEN_ORDERS' | 'MAX_HELD_UNITS' | 'MAX_HELD_SHARE' | 'MAX_UNPAID_IN_A_ROW' | 'PAYMENT_WINDOW'
>;

/** So many of one product anybody may hold, however few there are: a share of three is nothing. */
const ALWAYS_ALLOWED_OF_A_PRODUCT = 10;
/** Doubled with each further unpaid order. */
const FIRST_PAUSE_S = 60;
const LONGEST_PAUSE_S = 3_600;

interface Holding {
  orders: number;
  units: number;
  readonly bySku: Map<string, number>;
  readonly pauseS: number;
}

const NOTHING: Omit<Holding, 'bySku'> = { orders: 0, units: 0, pauseS: 0 };

/** No SKU begins like this: it would not be plain text. */
const CUSTOMER = '\u0000customer ';

function areOff({
  MAX_OPEN_ORDERS,
  MAX_HELD_UNITS,
  MAX_HELD_SHARE,
  MAX_UNPAID_IN_A_ROW,
}: Limits): boolean {
  const all = [MAX_OPEN_ORDERS, MAX_HELD_UNITS, MAX_HELD_SHARE, MAX_UNPAID_IN_A_ROW];
  return all.every((limit) => limit === null);
}

/** What two groups must not both have for this customer: they are counted by one at a time. */
export function needsOfCustomer(customerId: string, limits: Limits): string[] {
  return areOff(limits) ? [] : [`${CUSTOMER}${customerId}`];
}

/**
 * What each customer of a group holds without having paid for it, counted exactly: by advisory
 * locks no two groups have the same customer. Nobody waits for them, nor for a row of theirs that somebody
 * has locked: they are tried again, and no stranger with them. No scan: a customer's rows are those of
 * orders placed since the rows were last tidied, which they are each time the customer orders.
 */
export class CustomerLimits {
  readonly #holdings = new Map<string, Holding>();
  readonly #heldElsewhere = new Set<string>();
  readonly #areOff: boolean;

  private constructor(private readonly limits: Limits) {
    this.#areOff = areOff(limits);
  }

  static async read(
    tx: Transaction,
    requests: readonly PlaceRequest[],
    limits: Limits,
  ): Promise<CustomerLimits> {
    const held = new CustomerLimits(limits);
    if (held.#areOff) return held;
    const all = [...new Set(requests.map(({ customerId }) => customerId))];
    const free = held.#passOver(all, await tx.hot<{ id: string }>(LOCK, [all]));
    if (free.length === 0) return held;
    const customers = held.#passOver(free, await tx.hot<{ id: string }>(TIDY, [free]));
    if (customers.length === 0) return held;
    const rows = await tx.hot<HeldRow>(READ, [
      customers,
      limits.MAX_UNPAID_IN_A_ROW ?? NEVER,
      FIRST_PAUSE_S,
      LONGEST_PAUSE_S,
    ]);
    for (const row of rows) held.#holdings.set(row.customer_id, holdingOf(row));
    return held;
  }

  /** Those of these customers who are not `held` elsewhere. */
  #passOver(customers: readonly string[], held: readonly { readonly id: string }[]): string[] {
    for (const { id } of held) this.#heldElsewhere.add(id);
    return customers.filter((id) => !this.#heldElsewhere.has(id));
  }

  /** True where another group, or somebody, has this customer: nothing is known of what they hold. */
  isHeldElsewhere(customerId: string): boolean {
    return this.#heldElsewhere.has(customerId);
  }

  /** Why this customer may not hold these as well; undefined when they may. */
  refusalOf(
    { customerId, items }: PlaceRequest,
    availableOf: (sku: string) => number,
  ): LastcallError | undefined {
    if (this.#areOff) return undefined;
    const { MAX_OPEN_ORDERS: maxOrders, MAX_HELD_UNITS: maxUnits } = this.limits;
    const { orders, units, bySku, pauseS } = this.#of(customerId);
    if (pauseS > 0) return paused(pauseS);
    if (maxOrders !== null && orders >= maxOrders) return tooManyOrders(maxOrders);
    const wanted = items.reduce((sum, { quantity }) => sum + quantity, 0);
    if (maxUnits !== null && units + wanted > maxUnits) return tooManyUnits(maxUnits, units);
    const share = this.limits.MAX_HELD_SHARE;
    if (share === null) return undefined;
    for (const { sku, quantity } of items) {
      const held = bySku.get(sku) ?? 0;
      const ofShare = Math.floor((availableOf(sku) + held) * share);
      const most = Math.max(ALWAYS_ALLOWED_OF_A_PRODUCT, ofShare);
      if (held + quantity > most) return tooManyOfOne(sku, most, held);
    }
    return undefined;
  }

  /** Counts an order that will be placed, for those of the same customer behind it in the group. */
  add({ customerId, items }: PlaceRequest): void {
    if (this.#areOff) return;
    const holding = this.#of(customerId);
    holding.orders += 1;
    for (const { sku, quantity } of items) {
      holding.units += quantity;
      holding.bySku.set(sku, (holding.bySku.get(sku) ?? 0) + quantity);
    }
    this.#holdings.set(customerId, holding);
  }

  /**
   * Writes down who holds what. A free order is paid at once, and counts for as long as another
   * one would wait for its payment: it takes stock just as well.
   */
  async write(tx: Transaction, drafts: readonly Draft[]): Promise<void> {
    if (this.#areOff) return;
    await tx.hot(WRITE, [
      drafts.map(({ request }) => request.customerId),
      drafts.map(({ id }) => id),
      drafts.map(({ amount }) => amount === 0),
      this.limits.PAYMENT_WINDOW,
    ]);
  }

  #of(customerId: string): Holding {
    return this.#holdings.get(customerId) ?? { ...NOTHING, bySku: new Map() };
  }
}

/** More than there will ever be: no pause. */
const NEVER = 2 ** 31 - 1;

/** Answers with those whom another group has. */
const LOCK = `
  SELECT id FROM (SELECT c AS id, hashtext(c) AS k FROM unnest($1::text[]) AS c OFFSET 0) AS keys
   WHERE NOT pg_try_advisory_xact_lock(${ADVISORY_LOCKS.customer}, k)`;

/**
 * Takes away the rows of orders that are paid or closed by now, and counts how many in a row were
 * not paid. A free order ends no row of them, and one that an operator closed says nothing. Answers with
 * those of whom somebody has a row that would be changed: of these nothing is.
 */
const TIDY = `
  WITH over AS MATERIALIZED (
    SELECT u.tid, c AS customer_id, u.order_id::text AS order_id, o.closed_at,
           o.paid_at IS NOT NULL AND u.free_until IS NULL AS is_paid,
           o.paid_at IS NULL AND o.close_reason IN ('payment_timeout', 'customer_canceled') AS is_unpaid
      FROM unnest($1::text[]) AS c,
           LATERAL (SELECT ctid AS tid, order_id, free_until FROM unpaid_orders
                     WHERE customer_id = c OFFSET 0) AS u,
           LATERAL (SELECT status, paid_at, closed_at, close_reason FROM orders
                     WHERE id = u.order_id OFFSET 0) AS o
     WHERE o.status NOT IN ('pending_payment', 'closing')
       AND (u.free_until IS NULL OR u.free_until <= now())
  ), free AS MATERIALIZED (
    SELECT customer_id, order_id::text AS order_id FROM unpaid_orders
     WHERE ctid = ANY (ARRAY(SELECT tid FROM over)) FOR UPDATE SKIP LOCKED
  ), streaks AS MATERIALIZED (
    SELECT c AS customer_id, mine.customer_id IS NULL AS is_held
      FROM (SELECT DISTINCT customer_id AS c FROM over) AS customers,
           LATERAL (SELECT customer_id FROM unpaid_streaks WHERE customer_id = c OFFSET 0) AS there
           LEFT JOIN LATERAL (SELECT customer_id FROM unpaid_streaks WHERE customer_id = c
                                 FOR UPDATE SKIP LOCKED) AS mine ON true
  ), held AS MATERIALIZED (
    SELECT customer_id FROM over
     WHERE (customer_id, order_id) NOT IN (SELECT customer_id, order_id FROM free)
    UNION SELECT customer_id FROM streaks WHERE is_held
  ), ended AS MATERIALIZED (
    SELECT * FROM over WHERE customer_id NOT IN (SELECT customer_id FROM held)
  ), gone AS (
    DELETE FROM unpaid_orders WHERE ctid = ANY (ARRAY(SELECT tid FROM ended))
       AND CASE WHEN order_id IS NOT NULL
                THEN (customer_id, order_id::text) IN (SELECT customer_id, order_id FROM ended) END
  ), paid AS (
    SELECT customer_id, max(order_id) AS last_id FROM ended WHERE is_paid GROUP BY customer_id
  ), news AS (
    SELECT e.customer_id, bool_or(is_paid) AS was_paid,
           count(*) FILTER (WHERE is_unpaid AND (last_id IS NULL OR order_id > last_id)) AS unpaid,
           max(closed_at) FILTER (WHERE is_unpaid) AS last_at
      FROM ended e LEFT JOIN paid USING (customer_id) GROUP BY e.customer_id
  ), counted AS (
    INSERT INTO unpaid_streaks (customer_id, in_a_row, last_at)
    SELECT n.customer_id, unpaid + CASE WHEN was_paid THEN 0 ELSE coalesce(s.in_a_row, 0) END,
           coalesce(n.last_at, now())
      FROM news n LEFT JOIN LATERAL (SELECT in_a_row FROM unpaid_streaks
                                      WHERE customer_id = n.customer_id OFFSET 0) AS s ON true
     WHERE unpaid > 0 OR (was_paid AND s.in_a_row IS NOT NULL)
    ON CONFLICT (customer_id) DO UPDATE SET in_a_row = EXCLUDED.in_a_row, last_at = EXCLUDED.last_at
  )
  SELECT customer_id AS id FROM held`;

interface HeldRow {
  readonly customer_id: string;
  readonly orders: number;
  readonly items: readonly (readonly [sku: string, quantity: number])[];
  readonly pause_s: number | null;
}

function holdingOf({ orders, items, pause_s }: HeldRow): Holding {
  const bySku = new Map<string, number>();
  for (const [sku, quantity] of items) bySku.set(sku, (bySku.get(sku) ?? 0) + quantity);
  const units = [...bySku.values()].reduce((sum, quantity) => sum + quantity, 0);
  return { orders, units, bySku, pauseS: Math.max(0, pause_s ?? 0) };
}

const READ = `
  SELECT c AS customer_id, held.orders, held.items, pause.pause_s
    FROM unnest($1::text[]) AS c,
         LATERAL (SELECT count(DISTINCT order_id)::int AS orders,
                         coalesce(json_agg(json_build_array(sku, quantity)) FILTER (WHERE sku IS NOT NULL), '[]') AS items
                    FROM (SELECT u.order_id, i.sku, i.quantity
                            FROM (SELECT order_id FROM unpaid_orders WHERE customer_id = c OFFSET 0) AS u,
                                 LATERAL (SELECT sku, quantity FROM order_items
                                           WHERE order_id = u.order_id OFFSET 0) AS i) AS lines) AS held
         LEFT JOIN LATERAL (
           SELECT ceil(extract(epoch FROM least(last_at, now()) - now())
                       + least($4::int, $3::int * 2 ^ least(in_a_row - $2::int, 20)))::int AS pause_s
             FROM unpaid_streaks WHERE customer_id = c AND in_a_row >= $2::int OFFSET 0) AS pause ON true`;

const WRITE = `
  INSERT INTO unpaid_orders (customer_id, order_id, free_until)
  SELECT customer_id, id, CASE WHEN is_free THEN now() + $4::bigint * interval '1 millisecond' END
    FROM unnest($1::text[], $2::uuid[], $3::boolean[]) AS d (customer_id, id, is_free)`;
