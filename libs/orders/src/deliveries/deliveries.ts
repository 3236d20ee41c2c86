import type { Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { LastcallError } from '../order/errors';
import { type ActionRun, recordAction } from '../order/operator-action';
import { onDataSource } from '../order/order-rows';
import { isInstant } from '../order/page';
import { rehearse } from '../order/rehearse';
import { isUuid } from '../order/uuid';
import { readEndpoint } from './endpoints';
import { RETRY_FOR } from './attempt-backoff';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'dead'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** One event for one endpoint. */
export interface Delivery {
  readonly id: string;
  readonly orderId: string;
  readonly version: number;
  readonly type: string;
  /** `dead`: given up after three days; it can be sent again. */
  readonly status: DeliveryStatus;
  readonly attempts: number;
  /** The HTTP status of the last attempt; null where no answer came. */
  readonly answer: number | null;
  readonly error: string | null;
  readonly createdAt: string;
  /** When it is tried next, at the earliest; null when it is not. */
  readonly nextAttemptAt: string | null;
  readonly settledAt: string | null;
}

/** What {@link Deliveries.list} gives for a cursor. */
export const DELIVERY_CURSOR = /^(?:([\d:.TZ-]{24})_)?(\d{1,18})$/;

/** Sent again at a time; more are the next call's. */
export const MAX_REDELIVERED = 10_000;

/** What was, is and will be sent to an endpoint. */
@Injectable()
export class Deliveries {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /**
   * Newest first, the dead by when they were given up. `cursor` is the `nextCursor` of the page before.
   * @throws {LastcallError} webhook_endpoint_not_found; invalid_request: no cursor of this list
   */
  async list(filter: {
    readonly endpointId: string;
    readonly status?: DeliveryStatus | undefined;
    readonly limit: number;
    readonly cursor?: string | undefined;
  }): Promise<{ readonly items: readonly Delivery[]; readonly nextCursor: string | null }> {
    const { endpointId, status, limit, cursor } = filter;
    const sql = onDataSource(this.dataSource);
    await readEndpoint(sql, endpointId);
    // The dead by their own index: there are few of them among the many that were delivered.
    const isDead = status === 'dead';
    const [behind, order] = isDead
      ? [
          `status = 'dead' AND (settled_at, number) < ($5::timestamptz, $4::bigint)`,
          'settled_at DESC, number DESC',
        ]
      : ['number < $4::bigint', 'number DESC'];
    const rows = await sql.rows<Delivery & { number: string }>(
      `SELECT id, number, order_id AS "orderId", version, type, status, attempts, answer, error,
              created_at AS "createdAt", settled_at AS "settledAt",
              CASE WHEN status = 'pending' THEN next_attempt_at END AS "nextAttemptAt"
         FROM webhook_deliveries d
        WHERE endpoint_id = $1 AND ($2::text IS NULL OR status = $2) AND ${behind}
        ORDER BY ${order} LIMIT $3`,
      [endpointId, status ?? null, limit + 1, ...placeOf(cursor, isDead)],
    );
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return {
      items: items.map(
        ({ number: _, ...delivery }) => JSON.parse(JSON.stringify(delivery)) as Delivery,
      ),
      nextCursor: last ? cursorOf(last, isDead) : null,
    };
  }

  /**
   * Sends again, for three days anew: these of the endpoint's, or without ids the dead, the oldest
   * 10,000 at a time. What was delivered is sent again too when it is named; what waits goes as it would.
   * @throws {LastcallError} webhook_endpoint_not_found; webhook_delivery_not_found: one that is named is none
   *   of this endpoint's, or forgotten, and nothing is sent again
   */
  async redeliver(
    endpointId: string,
    ids: readonly string[] | undefined,
    run: ActionRun,
  ): Promise<{ readonly redelivered: number }> {
    return rehearse(run.dryRun ?? false, this.dataSource, async (tx) => {
      await readEndpoint(tx, endpointId);
      if (ids) await assertThere(tx, endpointId, ids);
      const rows = await tx.rows(
        `UPDATE webhook_deliveries
            SET status = 'pending', attempts = 0, next_attempt_at = now(), settled_at = NULL,
                retry_until = now() + interval '${RETRY_FOR}'
          WHERE id = ANY (ARRAY(
            SELECT id FROM webhook_deliveries WHERE endpoint_id = $1
               AND ${ids ? "id = ANY ($2::uuid[]) AND status <> 'pending'" : "status = 'dead' AND $2::uuid[] IS NULL"}
             ORDER BY settled_at LIMIT ${MAX_REDELIVERED} FOR NO KEY UPDATE))
        RETURNING 1`,
        [endpointId, ids ?? null],
      );
      const what = 'webhook_endpoint.redeliver';
      await recordAction(tx, what, 'webhook_endpoint', [endpointId], run);
      return { redelivered: rows.length };
    });
  }
}

async function assertThere(
  tx: Transaction,
  endpointId: string,
  ids: readonly string[],
): Promise<void> {
  const missing = await tx.rows<{ id: string }>(
    `SELECT id FROM unnest($2::uuid[]) AS named (id)
      WHERE (SELECT endpoint_id FROM webhook_deliveries d WHERE d.id = named.id)
            IS DISTINCT FROM $1::uuid`,
    [endpointId, ids.filter(isUuid)],
  );
  const deliveries = [...ids.filter((id) => !isUuid(id)), ...missing.map(({ id }) => id)];
  if (deliveries.length === 0) return;
  const more = deliveries.length > 1 ? ` and ${deliveries.length - 1} more` : '';
  throw new LastcallError(
    'webhook_delivery_not_found',
    `This endpoint has no delivery ${deliveries[0]}${more}; nothing is sent again`,
    { deliveries },
  );
}

/** Before anything has been read: a number, and an instant. */
const FROM_THE_TOP = ['9223372036854775807', 'infinity'];

/**
 * A place in a list, whatever becomes of the delivery that stood there: its number, and among the
 * dead before it the instant when it was given up.
 */
function cursorOf(
  { number, settledAt }: { readonly number: string; readonly settledAt: string | Date | null },
  isDead: boolean,
): string {
  return isDead ? `${new Date(settledAt ?? 0).toISOString()}_${number}` : number;
}

/** The number, and of a place among the dead the instant. */
function placeOf(cursor: string | undefined, isDead: boolean): string[] {
  if (cursor === undefined) return FROM_THE_TOP.slice(0, isDead ? 2 : 1);
  const [, settledAt, number] = DELIVERY_CURSOR.exec(cursor) ?? [];
  if (number !== undefined && isDead && isInstant(settledAt ?? ''))
    return [number, settledAt ?? ''];
  if (number !== undefined && !isDead && settledAt === undefined) return [number];
  const message = 'must be the nextCursor of an earlier answer, for the same status';
  const errors = [{ field: 'cursor', message }];
  throw new LastcallError('invalid_request', `cursor: ${message}`, { errors });
}
