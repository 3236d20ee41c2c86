import type { HostTransaction, Tx } from '@app/timeout';

/** What became of an order of a shop's own, as far as it was our doing. */
export type TargetStatus = 'closing' | 'closed' | 'paid';

export interface TargetOrder {
  readonly status: TargetStatus;
  readonly reason: string;
}

/** An order behind the fence, or with payments left to end, that is about to be asked about. */
export interface AskedOrder {
  readonly orderId: string;
  readonly attempt: number;
}

/** What became of an order whose provider does not tell. */
export interface OperatorsWord {
  readonly as: 'closed' | 'paid';
  /** The shop's payment that has paid it; null where none has. */
  readonly payment: string | null;
}

/** Our own rows of a shop's orders; the schema is spelt out, as a host's search path leads elsewhere. */
export class TargetOrders {
  readonly #table: string;

  constructor(schema: string) {
    this.#table = `"${schema}".target_orders`;
  }

  /**
   * The order's row in the shop's table is locked by the caller where it is still open. Answers with the
   * reasons that stand now: one that is behind the fence closes for that which put it there.
   */
  async put(
    tx: Tx,
    kind: string,
    orderIds: readonly string[],
    { status, reason }: TargetOrder,
  ): Promise<ReadonlyMap<string, string>> {
    if (orderIds.length === 0) return new Map();
    const rows = await tx.query<{ order_id: string; reason: string }>(
      `INSERT INTO ${this.#table} AS o (kind, order_id, status, reason)
       SELECT $1, id, $3, $4 FROM unnest($2::text[]) AS n (id) ORDER BY id
       ON CONFLICT (kind, order_id) DO UPDATE
         SET status = excluded.status,
             reason = CASE WHEN o.status = 'closing' AND excluded.status <> 'paid' THEN o.reason
                           ELSE excluded.reason END,
             changed_at = CASE WHEN o.status = excluded.status THEN o.changed_at ELSE now() END,
             attempts = CASE WHEN o.status = excluded.status THEN o.attempts ELSE 0 END,
             told = CASE WHEN o.status = excluded.status THEN o.told END,
             error = CASE WHEN o.status = excluded.status THEN o.error END
       RETURNING order_id, reason`,
      [kind, orderIds, status, reason],
    );
    return new Map(rows.map((row) => [row.order_id, row.reason]));
  }

  /** Locks what is known of these; in the order of their ids, so that nobody waits in a circle. */
  async lock(
    tx: Tx,
    kind: string,
    orderIds: readonly string[],
  ): Promise<ReadonlyMap<string, TargetOrder>> {
    if (orderIds.length === 0) return new Map();
    const rows = await tx.query<{ order_id: string } & TargetOrder>(
      `SELECT order_id, status, reason FROM ${this.#table}
        WHERE kind = $1 AND order_id = ANY ($2::text[]) ORDER BY order_id FOR UPDATE`,
      [kind, orderIds],
    );
    return new Map(rows.map(({ order_id: id, ...order }) => [id, order]));
  }

  /** Of these, those behind the fence, locked, and those whose row somebody has just now: it waits for nobody. */
  async lockFenced(
    tx: Tx,
    kind: string,
    orderIds: readonly string[],
  ): Promise<{ readonly fenced: string[]; readonly busy: string[] }> {
    if (orderIds.length === 0) return { fenced: [], busy: [] };
    const rows = await tx.query<{ order_id: string; is_free: boolean }>(
      `WITH free AS (
         SELECT order_id, status FROM ${this.#table}
          WHERE kind = $1 AND order_id = ANY ($2::text[]) FOR UPDATE SKIP LOCKED)
       SELECT order_id, true AS is_free FROM free WHERE status = 'closing'
       UNION ALL
       SELECT order_id, false FROM ${this.#table}
        WHERE kind = $1 AND order_id = ANY ($2::text[])
          AND order_id <> ALL (ARRAY(SELECT order_id FROM free))`,
      [kind, orderIds],
    );
    const idsOf = (isFree: boolean): string[] =>
      rows.filter((row) => row.is_free === isFree).map(({ order_id: id }) => id);
    return { fenced: idsOf(true), busy: idsOf(false) };
  }

  /** For orders that were fenced and have moved on by somebody else's doing. */
  async forget(tx: Tx, kind: string, orderId: string): Promise<void> {
    await tx.query(`DELETE FROM ${this.#table} WHERE kind = $1 AND order_id = $2`, [kind, orderId]);
  }

  /**
   * Counts one more attempt for those of these orders that there is something to ask about. It waits for
   * nobody: whoever has an order's row is about to end the deadline that is being handled here.
   */
  async beginAttempts(
    tx: Tx,
    kind: string,
    orderIds: readonly string[],
  ): Promise<{ readonly asked: AskedOrder[]; readonly busy: string[] }> {
    const rows = await tx.query<{ order_id: string; attempts: number | null }>(
      `WITH free AS (
         SELECT order_id FROM ${this.#table}
          WHERE kind = $1 AND order_id = ANY ($2::text[]) AND status IN ('closing', 'paid')
            FOR UPDATE SKIP LOCKED
       ), asked AS (
         UPDATE ${this.#table} SET attempts = attempts + 1
          WHERE kind = $1 AND order_id = ANY (ARRAY(SELECT order_id FROM free))
         RETURNING order_id, attempts)
       SELECT order_id, attempts FROM asked
       UNION ALL
       SELECT order_id, NULL FROM ${this.#table}
        WHERE kind = $1 AND order_id = ANY ($2::text[]) AND status IN ('closing', 'paid')
          AND order_id <> ALL (ARRAY(SELECT order_id FROM free))`,
      [kind, orderIds],
    );
    return {
      asked: rows.flatMap(({ order_id: orderId, attempts: attempt }) =>
        attempt === null ? [] : [{ orderId, attempt }],
      ),
      busy: rows.flatMap(({ order_id: id, attempts }) => (attempts === null ? [id] : [])),
    };
  }

  /**
   * Why no provider has answered about it, for whoever is woken up; null: one has. Nothing goes by it. The caller has
   * locked the order's row, where there is one.
   */
  async noteWhy(tx: Tx, kind: string, orderId: string, why: string | null): Promise<void> {
    await tx.query(
      `UPDATE ${this.#table} SET error = $3
        WHERE kind = $1 AND order_id = $2 AND error IS DISTINCT FROM $3`,
      [kind, orderId, why],
    );
  }

  /** What an operator has said of an order that its provider is asked about, if anybody has. */
  async told(tx: Tx, kind: string, orderId: string): Promise<OperatorsWord | undefined> {
    const [row] = await tx.query<OperatorsWord>(
      `SELECT told AS "as", told_payment AS payment FROM ${this.#table}
        WHERE kind = $1 AND order_id = $2 AND status IN ('closing', 'paid') AND told IS NOT NULL`,
      [kind, orderId],
    );
    return row;
  }

  /** For a word that cannot be carried out, where the order waits on, or that nothing waits for any more. */
  async forgetWord(tx: Tx, kind: string, orderId: string): Promise<void> {
    await tx.query(`UPDATE ${this.#table} SET told = NULL WHERE kind = $1 AND order_id = $2`, [
      kind,
      orderId,
    ]);
  }

  /** True while the order is behind the fence; as the transaction sees it. */
  async isClosing(tx: HostTransaction, kind: string, orderId: string): Promise<boolean> {
    const rows = await tx.query(
      `SELECT 1 AS closing FROM ${this.#table}, (SELECT $1::text::jsonb AS g) AS asked
        WHERE kind = g ->> 'kind' AND order_id = g ->> 'order_id' AND status = 'closing'`,
      [JSON.stringify({ kind, order_id: orderId })],
    );
    return rows.length > 0;
  }
}
