import { queryRows, type Transaction } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { ADVISORY_LOCKS } from '../order/advisory-locks';
import { uuidsBetween } from '../order/uuid';

/** Customers who have not come back for a day have no limits. */
const REMEMBERED_MS = 86_400_000;
const START = uuidsBetween()[0];

interface Looked {
  readonly forgotten: number;
  readonly looked: number;
  /** The order looked at last. */
  readonly last: string | null;
}

/**
 * Of so many orders behind `$2`, placed before `$3`, forgets those that are paid or closed. Others may be
 * unpaid for longer than a day. Whoever's row is held is looked at the next time.
 */
const FORGET_ORDERS = `
  WITH looked AS MATERIALIZED (
    SELECT ctid AS place, customer_id, order_id FROM unpaid_orders
     WHERE order_id > $2 AND order_id < $3 ORDER BY order_id LIMIT $1
  ), ended AS MATERIALIZED (
    SELECT l.* FROM looked l, LATERAL (
      SELECT status FROM orders WHERE id = l.order_id OFFSET 0) AS o
     WHERE o.status NOT IN ('pending_payment', 'closing')
  ), free AS MATERIALIZED (
    SELECT ctid AS place, customer_id, order_id FROM unpaid_orders
     WHERE ctid = ANY (ARRAY(SELECT place FROM ended)) FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM unpaid_orders WHERE ctid = ANY (ARRAY(SELECT place FROM free))
       AND CASE WHEN order_id IS NOT NULL
                THEN (customer_id, order_id) IN (SELECT customer_id, order_id FROM ended) END
    RETURNING 1)
  SELECT (SELECT count(*)::int FROM gone) AS forgotten, (SELECT count(*)::int FROM looked) AS looked,
         (SELECT order_id FROM looked ORDER BY order_id DESC LIMIT 1) AS last`;

const FORGET_STREAKS = `
  WITH old AS MATERIALIZED (
    SELECT ctid AS place, customer_id FROM unpaid_streaks
     WHERE last_at < now() - $2 * interval '1 millisecond'
     ORDER BY last_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM unpaid_streaks WHERE ctid = ANY (ARRAY(SELECT place FROM old))
       AND CASE WHEN customer_id IS NOT NULL THEN customer_id IN (SELECT customer_id FROM old) END
    RETURNING 1)
  SELECT count(*)::int AS forgotten, (SELECT count(*)::int FROM old) AS looked, NULL AS last
    FROM gone`;

/** Forgets what the limits of customers who have not come back remember. */
export class ForgetLimits {
  /** Orders that are old and unpaid still stay: a run goes on behind those that the last one met. */
  #after = START;

  constructor(private readonly dataSource: DataSource) {}

  /** At most `batches` statements of `batch` rows for either table; returns how many were forgotten. */
  async run(batch: number, batches: number, stops: () => boolean): Promise<number> {
    const [now] = await this.#rows<{ at: Date }>('SELECT now() AS at');
    const before = uuidsBetween(new Date(now.at.getTime() - REMEMBERED_MS))[0];
    const orders = async (): Promise<Looked> => {
      const [row] = await this.#rows<Looked>(FORGET_ORDERS, [batch, this.#after, before]);
      this.#after = row.looked === batch && row.last !== null ? row.last : START;
      return row;
    };
    const streaks = async (): Promise<Looked> =>
      (await this.#rows<Looked>(FORGET_STREAKS, [batch, REMEMBERED_MS]))[0];
    let forgotten = 0;
    for (const look of [orders, streaks]) {
      for (let looked = batch, n = 0; looked === batch && n < batches && !stops(); n++) {
        const row = await look();
        forgotten += row.forgotten;
        looked = row.looked;
      }
    }
    return forgotten;
  }

  /** Each of the statements has one row. */
  async #rows<T>(sql: string, given: readonly unknown[] = []): Promise<[T]> {
    return (await queryRows<T>(this.dataSource, sql, given)) as [T];
  }
}

const TURN = `SELECT pg_try_advisory_xact_lock(${ADVISORY_LOCKS.customer}, k) AS "isOurs"
                FROM hashtext($1) AS k`;

/** Whose row is held is waited for no more than whose turn it is. */
const FORGET_CUSTOMER = [
  `DELETE FROM unpaid_orders WHERE customer_id = $1 AND order_id = ANY (ARRAY(
     SELECT order_id FROM unpaid_orders WHERE customer_id = $1 FOR UPDATE SKIP LOCKED))`,
  `DELETE FROM unpaid_streaks WHERE customer_id = (
     SELECT customer_id FROM unpaid_streaks WHERE customer_id = $1 FOR UPDATE SKIP LOCKED)`,
];

const LEFT = `SELECT FROM unpaid_orders WHERE customer_id = $1
              UNION ALL SELECT FROM unpaid_streaks WHERE customer_id = $1 LIMIT 1`;

/**
 * The customer's turn among those who place orders, to the end of the transaction: false where somebody
 * is placing one for them. They are not waited for, and wait for us: briefly, as a whole group may.
 */
export async function takeTurnOf(tx: Transaction, customer: string): Promise<boolean> {
  const [turn] = await tx.rows<{ isOurs: boolean }>(TURN, [customer]);
  return turn?.isOurs === true;
}

/** Forgets what limits remember of one customer, whose turn has been taken; false where some is left. */
export async function forgetLimitsOf(tx: Transaction, customer: string): Promise<boolean> {
  for (const sql of FORGET_CUSTOMER) await tx.rows(sql, [customer]);
  return (await tx.rows(LEFT, [customer])).length === 0;
}
