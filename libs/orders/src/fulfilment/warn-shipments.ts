import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BACKGROUND } from '../data-source';
import { NEW_EVENT_TX } from '../order/event-tx';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import type { Queryable } from '../order/order-rows';
import { DECIDED_AT, IS_UNDECIDED } from './undecided-money';

/**
 * Three days before, where orders wait thirty; a tenth of the time where they wait less, and where that would be
 * less than twenty minutes, these, or half of the time: somebody has to hear of it, and looks are a minute apart.
 */
const NEAR = `d.due_at < now() + interval '3 days'
  AND d.due_at < now() + least(interval '3 days', greatest(
        o.ship_within_ms * interval '0.1 millisecond',
        least(interval '20 minutes', o.ship_within_ms * interval '0.5 millisecond')))`;
const NEAR_ORDERS = `deadlines d JOIN orders o ON o.id = d.subject_id AND o.status = 'paid'
  WHERE d.kind = 'shipment' AND ${NEAR} AND NOT ${IS_UNDECIDED}`;

const BATCH = 500;
/** A run is bounded; the next one goes on. */
const MAX_BATCHES = 100;

/**
 * Says of paid orders that are not shipped that their money is about to go back by itself: an event
 * `order.shipment_due` for each, once, and one alert for all that are new. Of one that nobody may ship, as its money
 * is on hold or disputed, it is said once that has ended, whatever was said before.
 */
@Injectable()
export class WarnShipments {
  constructor(
    @Inject(BACKGROUND) private readonly dataSource: DataSource,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  async runOnce(): Promise<{ warned: number }> {
    let warned = 0;
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const done = await inTransaction(this.dataSource, (tx) => warnBatch(tx));
      warned += done.warned;
      if (done.near < BATCH) break;
    }
    if (warned > 0) this.telemetry.alert('automatic_refunds_ahead', { orders: warned });
    return { warned };
  }
}

/** Its event is never before what it is told after, whatever has become of the clock meanwhile: it is told once. */
const IS_UNTOLD = `NOT EXISTS (
  SELECT FROM order_events e WHERE e.order_id = o.id AND e.type = 'order.shipment_due'
     AND e.at >= coalesce(${DECIDED_AT}, '-infinity'))`;

async function warnBatch(tx: Transaction): Promise<{ near: number; warned: number }> {
  const near = await tx.rows<{ id: string }>(
    `SELECT o.id FROM ${NEAR_ORDERS} AND ${IS_UNTOLD}
      ORDER BY d.due_at LIMIT ${BATCH} FOR NO KEY UPDATE OF o SKIP LOCKED`,
  );
  // Looked at anew once they are locked: another worker may have told of them since that began.
  const warned = await tx.rows(
    `WITH warned AS (
       UPDATE orders o SET version = version + 1, event_tx = greatest(o.event_tx, ${NEW_EVENT_TX})
        WHERE o.id = ANY ($1::uuid[]) AND ${IS_UNTOLD}
       RETURNING o.id, o.version, o.event_tx, greatest(now(), ${DECIDED_AT}) AS at
     )
     INSERT INTO order_events (order_id, version, type, from_status, to_status, by, reason, tx, at)
     SELECT id, version, 'order.shipment_due', 'paid', 'paid', 'system', 'shipment_timeout', event_tx, at
       FROM warned
     RETURNING 1`,
    [near.map(({ id }) => id)],
  );
  return { near: near.length, warned: warned.length };
}

/** Beyond that it is enough to know that there are very many. */
const MOST_COUNTED = 10_000;

/** Paid orders that may be shipped, and are canceled and refunded within three days at the most unless they are. */
export async function countRefundsAhead(sql: Queryable): Promise<number> {
  const [row] = await sql.rows<{ n: number }>(
    `SELECT count(*)::int AS n FROM (SELECT FROM ${NEAR_ORDERS} LIMIT ${MOST_COUNTED}) AS near`,
  );
  return row?.n ?? 0;
}
