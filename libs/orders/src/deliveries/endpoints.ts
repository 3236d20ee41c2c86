import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../config';
import { DATABASE } from '../data-source';
import { oldestUnfinished } from '../events/event-window';
import { LastcallError } from '../order/errors';
import { idOf } from '../order/given-id';
import {
  type Accountable,
  type ActionRun,
  type OperatorAction,
  recordAction,
} from '../order/operator-action';
import { onDataSource, type Queryable } from '../order/order-rows';
import { rehearse } from '../order/rehearse';
import { uuidv7 } from '../order/uuid';
import { complaintAboutUrl } from './endpoint-address';
import { beginAt } from './fan-out';
import { testBody } from './message';
import { type Attempt, postWebhook } from './post-webhook';
import { newSecret } from './sign-webhook';

/** A system of the shop's that hears of events. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  /** Types of events, or `*` for all. */
  readonly events: readonly string[];
  /** `off`: nothing is sent until it is switched on; what waits is kept for three days. */
  readonly status: 'on' | 'off';
  /** Why it is off. */
  readonly reason: string | null;
  readonly createdAt: string;
  /** Since when every attempt has failed; null while it takes what it is sent. */
  readonly failingSince: string | null;
  readonly lastDeliveredAt: string | null;
  /** Until when the secret before the present one signs as well; null when there is none. */
  readonly previousSecretUntil: string | null;
}

/** Told once: it can be replaced and not be read again. */
export interface WithSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string;
}

/** Each costs a delivery an event, and a few connections in every worker. */
const MAX_ENDPOINTS = 20;
/** How long both secrets sign after a rotation, unless told otherwise. */
export const DEFAULT_OVERLAP_MS = 24 * 3_600_000;
export const MAX_OVERLAP_MS = 7 * DEFAULT_OVERLAP_MS;

const ENTRY = `id, url, events, status, status_reason AS reason, created_at AS "createdAt",
  failing_since AS "failingSince", delivered_at AS "lastDeliveredAt",
  CASE WHEN previous_until > now() THEN previous_until END AS "previousSecretUntil"`;

/** Endpoints as merchants keep them. */
@Injectable()
export class WebhookEndpoints {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Oldest first; there are few. */
  async list(): Promise<WebhookEndpoint[]> {
    const rows = await onDataSource(this.dataSource).rows<WebhookEndpoint>(
      `SELECT ${ENTRY} FROM webhook_endpoints WHERE status <> 'deleted' ORDER BY id`,
    );
    return rows.map(withTexts);
  }

  /** @throws {LastcallError} webhook_endpoint_not_found */
  read(id: string): Promise<WebhookEndpoint> {
    return readEndpoint(onDataSource(this.dataSource), id);
  }

  /**
   * From now on the endpoint hears of these events.
   * @throws {LastcallError} invalid_request: an address where webhooks may not go;
   * too_many_webhook_endpoints
   */
  async create(
    { url, events }: { readonly url: string; readonly events: readonly string[] },
    accountable: Accountable,
  ): Promise<WithSecret> {
    const complaint = complaintAboutUrl(url, this.settings.WEBHOOKS_ALLOW_PRIVATE);
    if (complaint) {
      const errors = [{ field: 'url', message: complaint }];
      throw new LastcallError('invalid_request', `url: ${complaint}`, { errors });
    }
    const secret = newSecret();
    return inTransaction(this.dataSource, async (tx) => {
      await tx.rows('LOCK TABLE webhook_endpoints IN SHARE ROW EXCLUSIVE MODE');
      const [row] = await tx.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM webhook_endpoints WHERE status <> 'deleted'`,
      );
      const endpoints = row?.n ?? 0;
      if (endpoints >= MAX_ENDPOINTS) {
        throw new LastcallError(
          'too_many_webhook_endpoints',
          `There are ${MAX_ENDPOINTS} endpoints already; delete one that is of no use any more`,
        );
      }
      const now = await oldestUnfinished(tx);
      if (endpoints === 0) await beginAt(tx, now);
      const id = uuidv7();
      await tx.rows(
        `INSERT INTO webhook_endpoints (id, url, events, secret, from_tx)
         VALUES ($1, $2, $3, $4, $5::text::xid8)`,
        [id, new URL(url).href, [...new Set(events)], secret, now],
      );
      await record(tx, 'webhook_endpoint.create', id, accountable);
      return { endpoint: await readEndpoint(tx, id), secret };
    });
  }

  /**
   * Nothing is sent to it any more. What is under way ends.
   * @throws {LastcallError} webhook_endpoint_not_found
   */
  async delete(id: string, accountable: Accountable): Promise<{ readonly id: string }> {
    return this.#change(id, 'webhook_endpoint.delete', accountable, async (tx, ownId) => {
      await tx.rows(
        `UPDATE webhook_endpoints SET status = 'deleted', status_at = now(), secret = '',
                previous_secret = NULL WHERE id = $1`,
        [ownId],
      );
      return { id: ownId };
    });
  }

  /**
   * A new secret signs from now on, and the present one beside it for `overlapMs`, so that the other
   * side can change at its leisure; none before it does.
   * @throws {LastcallError} webhook_endpoint_not_found
   */
  async rotate(id: string, overlapMs: number, accountable: Accountable): Promise<WithSecret> {
    const secret = newSecret();
    return this.#change(id, 'webhook_endpoint.rotate', accountable, async (tx, ownId) => {
      await tx.rows(
        `UPDATE webhook_endpoints
            SET previous_secret = CASE WHEN $3::float8 > 0 THEN secret END,
                previous_until = now() + $3 * interval '1 millisecond', secret = $2
          WHERE id = $1`,
        [ownId, secret, overlapMs],
      );
      return { endpoint: await readEndpoint(tx, ownId), secret };
    });
  }

  /**
   * Sends again what waits, and from now on; also what was switched off by its failures.
   * @throws {LastcallError} webhook_endpoint_not_found
   */
  async switchOn(id: string, run: ActionRun): Promise<WebhookEndpoint> {
    return this.#change(id, 'webhook_endpoint.switch_on', run, async (tx, ownId) => {
      await tx.rows(
        `UPDATE webhook_endpoints SET status = 'on', status_reason = NULL, status_at = now(),
                failing_since = NULL, failures = 0, paused_until = NULL WHERE id = $1`,
        [ownId],
      );
      return readEndpoint(tx, ownId);
    });
  }

  /**
   * Sends a test event at once, once, whatever the endpoint is, and tells how it went.
   * @throws {LastcallError} webhook_endpoint_not_found
   */
  async test(id: string): Promise<Attempt> {
    const ownId = idOf(id, endpointNotFound);
    const [row] = await onDataSource(this.dataSource).rows<{
      url: string;
      secret: string;
      previous: string | null;
      now: Date;
    }>(
      `SELECT url, secret, CASE WHEN previous_until > now() THEN previous_secret END AS previous,
              now()::timestamptz(3) AS now
         FROM webhook_endpoints WHERE id = $1 AND status <> 'deleted'`,
      [ownId],
    );
    if (!row) throw endpointNotFound();
    const secrets = row.previous === null ? [row.secret] : [row.secret, row.previous];
    const message = {
      id: `msg_${uuidv7()}`,
      url: row.url,
      secrets,
      body: testBody(ownId, row.now),
    };
    return postWebhook(message, { allowPrivate: this.settings.WEBHOOKS_ALLOW_PRIVATE });
  }

  async #change<T>(
    given: string,
    action: OperatorAction,
    run: ActionRun,
    work: (tx: Transaction, id: string) => Promise<T>,
  ): Promise<T> {
    const id = idOf(given, endpointNotFound);
    return rehearse(run.dryRun ?? false, this.dataSource, async (tx) => {
      const found = await tx.rows(
        `SELECT FROM webhook_endpoints WHERE id = $1 AND status <> 'deleted' FOR NO KEY UPDATE`,
        [id],
      );
      if (found.length === 0) throw endpointNotFound();
      await record(tx, action, id, run);
      return work(tx, id);
    });
  }
}

function record(
  tx: Transaction,
  action: OperatorAction,
  id: string,
  accountable: Accountable,
): Promise<void> {
  return recordAction(tx, action, 'webhook_endpoint', [id], accountable);
}

export async function readEndpoint(sql: Queryable, id: string): Promise<WebhookEndpoint> {
  const ownId = idOf(id, endpointNotFound);
  const [endpoint] = await sql.rows<WebhookEndpoint>(
    `SELECT ${ENTRY} FROM webhook_endpoints WHERE id = $1 AND status <> 'deleted'`,
    [ownId],
  );
  if (!endpoint) throw endpointNotFound();
  return withTexts(endpoint);
}

function endpointNotFound(): LastcallError {
  return new LastcallError('webhook_endpoint_not_found', 'There is no such webhook endpoint');
}

/** Instants as JSON has them. */
function withTexts(endpoint: WebhookEndpoint): WebhookEndpoint {
  return JSON.parse(JSON.stringify(endpoint)) as WebhookEndpoint;
}
