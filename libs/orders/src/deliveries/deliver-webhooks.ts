import { failpoint, queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../config';
import { CLOSERS } from '../data-source';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { backoffMs, LAST_ATTEMPT, LONGEST_BACKOFF_MS } from './attempt-backoff';
import {
  CALL_BACK,
  CLAIM,
  LEASE_MS,
  LONGEST_PAUSE_MS,
  PASS_ON,
  PROBE,
  WITH_WORK,
} from './claim-deliveries';
import { bodyOf, type DeliveredEvent } from './message';
import { type Attempt, postWebhook } from './post-webhook';

/** An endpoint that was asked in vain for so long is switched off. */
const OFF_AFTER = '3 days';
const GONE = 410;

export interface Claimed extends DeliveredEvent {
  readonly id: string;
  readonly endpointId: string;
  readonly attempts: number;
  readonly url: string;
  readonly secret: string;
  readonly previousSecret: string | null;
}

type Tried = Claimed & Attempt;

export interface DeliveryCounts {
  readonly delivered: number;
  readonly failed: number;
}

/**
 * Sends webhooks that are due: at least once, and each order's in their order, as none is due before
 * the one ahead of it is delivered or given up. Endpoints do not wait for each other. Any number of
 * workers share the work; one that is killed has its webhooks sent again when their lease is over.
 */
@Injectable()
export class DeliverWebhooks {
  readonly #underWay = new Map<string, Promise<DeliveryCounts>>();

  constructor(
    @Inject(CLOSERS) private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /** Gets to work on every endpoint that has something due, and waits for none of them. */
  async start(stopping: AbortSignal): Promise<void> {
    for (const endpointId of await this.#endpointsWithWork()) {
      if (this.#underWay.has(endpointId) || stopping.aborted) continue;
      const work = this.#empty(endpointId, stopping)
        .catch((error: unknown) => {
          this.telemetry.failed('deliver webhooks', error);
          return NOTHING;
        })
        .finally(() => this.#underWay.delete(endpointId));
      this.#underWay.set(endpointId, work);
    }
  }

  /** Resolves when what is under way has ended, within the limit of an attempt. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  /** All that is due now, to its end. */
  async runOnce(stopping = new AbortController().signal): Promise<DeliveryCounts> {
    const endpoints = await this.#endpointsWithWork();
    const counts = await Promise.all(endpoints.map((id) => this.#empty(id, stopping)));
    return counts.reduce(sum, NOTHING);
  }

  async #empty(endpointId: string, stopping: AbortSignal): Promise<DeliveryCounts> {
    let counts = NOTHING;
    while (!stopping.aborted) {
      const claimed = await this.claim(endpointId);
      if (claimed.length === 0) {
        for (const statement of [CALL_BACK, PASS_ON]) {
          await queryRows(this.dataSource, statement, [endpointId, LEASE_MS]);
        }
        break;
      }
      await failpoint('delivery.claimed');
      const tried = await Promise.all(claimed.map((one) => this.#attempt(one)));
      await failpoint('delivery.answered');
      await this.#settle(endpointId, tried);
      const delivered = tried.filter(({ isDelivered }) => isDelivered).length;
      counts = sum(counts, { delivered, failed: tried.length - delivered });
    }
    return counts;
  }

  async #endpointsWithWork(): Promise<string[]> {
    const rows = await queryRows<{ id: string }>(this.dataSource, WITH_WORK);
    return rows.map(({ id }) => id);
  }

  /** Takes some that are due, the first of each order, for as long as an attempt may take. */
  async claim(endpointId: string): Promise<Claimed[]> {
    const claimed = await this.#claimBy(CLAIM, endpointId);
    return claimed.length > 0 ? claimed : this.#claimBy(PROBE, endpointId);
  }

  async #claimBy(statement: string, endpointId: string): Promise<Claimed[]> {
    const values = [endpointId, LEASE_MS];
    const rows = await queryRows<Claimed & { amount: string }>(this.dataSource, statement, values);
    return rows.map((row) => ({ ...row, amount: Number(row.amount) }));
  }

  async #attempt(claimed: Claimed): Promise<Tried> {
    const { id, url, secret, previousSecret, endpointId: _, attempts: __, ...event } = claimed;
    const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
    const message = { id: `msg_${id}`, url, secrets, body: bodyOf(event) };
    const attempt = await postWebhook(message, {
      allowPrivate: this.settings.WEBHOOKS_ALLOW_PRIVATE,
    });
    return { ...claimed, ...attempt };
  }

  /** Writes down what became of a batch, and what that says of its endpoint. */
  async #settle(endpointId: string, tried: readonly Tried[]): Promise<void> {
    const rows = await queryRows<{ status: string; n: number }>(this.dataSource, SETTLE, [
      tried.map(({ id }) => id),
      tried.map(({ attempts }) => attempts),
      tried.map(({ isDelivered }) => isDelivered),
      tried.map(({ answer }) => answer),
      tried.map(({ error }) => error),
      tried.map(({ attempts }) => backoffMs(attempts)),
    ]);
    for (const { status, n } of rows) this.telemetry.delivered(statusName(status), n);
    const delivered = tried.filter(({ isDelivered }) => isDelivered).length;
    const isGone = tried.some(({ answer }) => answer === GONE);
    const [endpoint] = await queryRows<{ reason: string; is_off: boolean }>(
      this.dataSource,
      NOTE_ENDPOINT,
      [endpointId, delivered > 0, isGone, LONGEST_PAUSE_MS],
    );
    if (endpoint?.is_off) {
      // Without its address: some are secrets.
      this.telemetry.alert('webhook_endpoint_off', { endpointId, reason: endpoint.reason });
    }
  }
}

const NOTHING: DeliveryCounts = { delivered: 0, failed: 0 };

const sum = (a: DeliveryCounts, b: DeliveryCounts): DeliveryCounts => ({
  delivered: a.delivered + b.delivered,
  failed: a.failed + b.failed,
});

const statusName = (status: string): 'delivered' | 'failed' | 'dead' =>
  status === 'delivered' || status === 'dead' ? status : 'failed';

/**
 * Conditional on the attempt: a report that comes after its lease changes nothing. The order's other
 * webhooks wait as long as the one that failed, so that they are not looked at in vain.
 */
const SETTLE = `
  WITH settled AS (
    UPDATE webhook_deliveries d
       SET (status, next_attempt_at, settled_at, answer, error) = (
         SELECT CASE WHEN is_delivered THEN 'delivered' WHEN is_over THEN 'dead' ELSE 'pending' END,
                again_at, CASE WHEN is_delivered OR is_over THEN now() END,
                ($4::int[])[n], ($5::text[])[n]
           FROM array_position($1::uuid[], d.id) AS n,
             LATERAL (SELECT ($3::boolean[])[n] AS is_delivered,
                             now() + ($6::float8[])[n] * interval '1 millisecond' AS again_at) AS t,
             LATERAL (SELECT d.attempts >= ${LAST_ATTEMPT} AS is_over) AS o)
     WHERE d.id = ANY ($1::uuid[]) AND d.attempts = ($2::int[])[array_position($1::uuid[], d.id)]
       AND CASE WHEN d.status = 'pending' THEN true END
    RETURNING d.status, d.endpoint_id, d.order_id, d.version, d.next_attempt_at
  ), behind AS (
    UPDATE webhook_deliveries d
       SET next_attempt_at = (
         SELECT max(next_attempt_at) FROM settled s
          WHERE s.status = 'pending' AND s.endpoint_id = d.endpoint_id AND s.order_id = d.order_id)
     WHERE d.ctid = ANY (ARRAY(
       SELECT later.ctid FROM settled s, LATERAL (
         SELECT ctid FROM webhook_deliveries
          WHERE endpoint_id = s.endpoint_id AND order_id = s.order_id AND version > s.version
            AND CASE WHEN status = 'pending' THEN next_attempt_at < s.next_attempt_at END OFFSET 0) AS later
        WHERE s.status = 'pending'))
       AND CASE WHEN d.status = 'pending' THEN (d.endpoint_id, d.order_id) IN (
             SELECT endpoint_id, order_id FROM settled s WHERE s.status = 'pending') END
  )
  SELECT status, count(*)::int AS n FROM settled GROUP BY status`;

/**
 * Since its first failure. Of the time from one failure to the next no more counts than its only event may have to wait:
 * no worker may have run for longer, nothing have happened, or a clock be ahead. Nor does what is from before it worked
 * once more for a version that does not count it.
 */
const FAILING_FOR = `
  CASE WHEN failing_since IS NULL OR failed_at < failing_since THEN interval '0'
       ELSE failing_for + greatest(interval '0',
              least(now() - coalesce(failed_at, now()), ${LONGEST_BACKOFF_MS} * interval '1 millisecond')) END`;

/** What a batch says of its endpoint; `is_off` when this has switched it off. */
const NOTE_ENDPOINT = `
  UPDATE webhook_endpoints e
     SET failing_since = CASE WHEN $2 THEN NULL ELSE least(failing_since, now()) END,
         failing_for = CASE WHEN $2 THEN interval '0' ELSE ${FAILING_FOR} END,
         failed_at = CASE WHEN $2 THEN NULL ELSE now() END,
         failures = CASE WHEN $2 THEN 0 ELSE least(failures, 1000) + 1 END,
         paused_until = CASE WHEN $2 THEN NULL
           ELSE now() + least(1000 * 2.0 ^ least(failures, 20), $4)::float8 * interval '1 millisecond' END,
         delivered_at = CASE WHEN $2 THEN now() ELSE delivered_at END,
         status = CASE WHEN off.reason IS NULL THEN e.status ELSE 'off' END,
         status_at = CASE WHEN off.reason IS NULL THEN e.status_at ELSE now() END,
         status_reason = coalesce(off.reason, e.status_reason)
    FROM (SELECT id, CASE
            WHEN $3 THEN 'it answered 410 Gone'
            WHEN NOT $2 AND ${FAILING_FOR} >= interval '${OFF_AFTER}' THEN 'it has taken nothing for ${OFF_AFTER}' END AS reason
            FROM webhook_endpoints WHERE id = $1) AS off
   WHERE e.id = off.id AND e.status = 'on'
     -- What works and has worked is not written at every batch.
     AND (NOT $2 OR e.failing_since IS NOT NULL OR e.delivered_at IS NULL
          OR e.delivered_at < now() - interval '1 minute')
  RETURNING e.status_reason AS reason, e.status = 'off' AS is_off`;
