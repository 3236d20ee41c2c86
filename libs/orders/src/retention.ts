import { queryRows } from '@app/timeout';
import { FORGET_DELIVERIES } from './deliveries/forget-deliveries';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BACKGROUND } from './data-source';
import { BATCH, forgetInBatches, MAX_BATCHES } from './forget-in-batches';
import { ForgetLimits } from './placing/forget-limits';

export interface RetentionCounts {
  readonly keys: number;
  readonly webhooks: number;
  /** Webhooks to the shop's own systems that nobody will ask for any more, or that are given up. */
  readonly deliveries: number;
  /** What the limits of customers who have not come back remember. */
  readonly limits: number;
  /** What commands left to the host's processes, and did not wait for. */
  readonly errands: number;
  /** Sessions of pages that ended a month ago. */
  readonly sessions: number;
}

/** A key is promised to be known for 24 hours; twice that forgives a client's retry next day. */
const KEYS_FOR_HOURS = 48;

/** Idempotency keys, and whose they are. */
const KEYS = [
  ['idempotency_keys', 'customer_id'],
  ['payment_keys', 'order_id'],
  ['refund_keys', 'order_id'],
  ['extension_keys', 'order_id'],
] as const;

/**
 * By ctid, as a plain join may be planned by reading the whole table, and by the key, as a ctid is
 * unique in one partition only: in a CASE, where it is not joined (ADR 43).
 */
const forgetKeys = (table: string, owner: string): string => `
  WITH old AS MATERIALIZED (
    SELECT ctid AS place, ${owner}, key FROM ${table}
     WHERE created_at < now() - interval '${KEYS_FOR_HOURS} hours'
     ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT place FROM old))
       AND CASE WHEN key IS NOT NULL THEN (${owner}, key) IN (SELECT ${owner}, key FROM old) END
    RETURNING 1)
  SELECT count(*)::int AS n FROM gone`;

/**
 * Deletes what is of no more use: old idempotency keys, and settled webhooks that came a week ago.
 * History is kept for good: it is the audit trail. The event stream in Redis trims itself.
 */
@Injectable()
export class Retention {
  readonly #limits: ForgetLimits;

  constructor(@Inject(BACKGROUND) private readonly dataSource: DataSource) {
    this.#limits = new ForgetLimits(dataSource);
  }

  /** Once it `stops`, the statement under way is the last. */
  async runOnce(stops: () => boolean = () => false): Promise<RetentionCounts> {
    const rowsOf = (sql: string, params: readonly number[]) =>
      queryRows<{ n: number }>(this.dataSource, sql, params);
    const forget = (...statements: readonly string[]) => forgetInBatches(rowsOf, statements, stops);
    return {
      keys: await forget(...KEYS.map(([table, owner]) => forgetKeys(table, owner))),
      limits: await this.#limits.run(BATCH, MAX_BATCHES, stops),
      sessions: await forget(
        `WITH gone AS (
           DELETE FROM page_sessions WHERE id IN (
             SELECT id FROM page_sessions WHERE ends_at < now() - interval '30 days'
              ORDER BY ends_at LIMIT $1 FOR UPDATE SKIP LOCKED)
           RETURNING 1)
         SELECT count(*)::int AS n FROM gone`,
      ),
      errands: await forget(
        `WITH gone AS (
           DELETE FROM errands WHERE id = ANY (ARRAY(
             SELECT id FROM errands WHERE asked_at < now() - interval '1 hour'
              ORDER BY asked_at LIMIT $1 FOR UPDATE SKIP LOCKED))
           RETURNING 1)
         SELECT count(*)::int AS n FROM gone`,
      ),
      // A function, as the application itself may not delete from the inbox.
      webhooks: await forget('SELECT forget_settled_webhooks($1) AS n'),
      deliveries: await forget(...FORGET_DELIVERIES),
    };
  }
}
