import {
  DatabaseClock,
  failpoint,
  type Held,
  inTransaction,
  type InTransactionOptions,
  isEverybodys,
  isLockOfIds,
  isLockTimeout,
  isTableLocked,
  type Lock,
  queryHot,
  StoodStillError,
  TimeoutService,
  type Transaction,
  Uuids,
} from '@app/timeout';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { ApplyNotices, type PaymentOwners } from './apply-notices';
import { type HowToCarryOut, tookTooLong } from '../group-commit-options';
import { ORDER_LOCK_PREFIX, orderLockKey } from '../order/order';
import { ORDER_LOCK } from '../order/order-guard';
import { HeldInHostError } from '../order/heard-of-host';
import { isUuid } from '../order/uuid';
import type { ProviderNotice } from '../providers/payment-provider';
import { PaymentProviders } from '../providers/payment-providers';
import { ORDERS_TELEMETRY, type OrdersTelemetry, type WebhookResult } from '../order/telemetry';
import { NoticeGroups } from './notice-groups';
import { withOwnId } from './own-id';
import type { WebhookHeaders } from './read-notice';
import { NOT_YET, storeWebhooks, unknownAmong } from './webhook-inbox';
import { waitNoMore } from '../order/wait-no-more';

/** What a group had to wait for in vain, a table or the host, keeps others for longer: what comes meanwhile is stored. */
const APPLY_LATER_FOR_MS = 1_000;
/** Behind a wait in vain: what is left of the three seconds, within which the provider hears of it. */
const STORE_FOR_MS = 400;

/**
 * Takes a provider's webhooks: verified on the raw bytes, stored, and applied in the same
 * transaction, many at once. The call resolves when the webhook is durable. One that cannot be
 * applied is stored alone, with a deadline that applies it later.
 */
@Injectable()
export class ReceiveWebhook implements OnApplicationShutdown {
  readonly #groups: NoticeGroups;
  #appliesFromMs = -Infinity;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly applying: ApplyNotices,
    private readonly timeouts: TimeoutService,
    @Inject(ORDER_LOCK) private readonly lock: Lock,
    providers: PaymentProviders,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {
    const clock = new DatabaseClock(dataSource);
    this.#groups = new NoticeGroups(
      { providers, telemetry, clock, asTaken: withOwnId },
      (provider, notices, how) => this.#takeGroup(provider, notices, how),
    );
  }

  /**
   * Resolves when the webhook is stored: answer 2xx then, and only then.
   * @throws {LastcallError} unknown_provider, bad_signature, stale_timestamp, invalid_request, busy
   */
  receive(providerName: string, rawBody: Buffer, headers: WebhookHeaders): Promise<void> {
    return this.#groups.receive(providerName, rawBody, headers);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#groups.drained();
  }

  async #takeGroup(
    provider: string,
    notices: readonly ProviderNotice[],
    { sinceMs, beganMs }: HowToCarryOut,
  ): Promise<WebhookResult[]> {
    // Nobody waits in vain for what the group before has waited for.
    if (performance.now() < this.#appliesFromMs)
      return this.#storeForLater(provider, notices, sinceMs);
    try {
      return await this.#applyGroup(provider, notices, sinceMs);
    } catch (error) {
      const stoodStill = error instanceof StoodStillError;
      const haveWaited = isLockTimeout(error) || stoodStill;
      if (isTableLocked(error) || stoodStill) {
        this.#appliesFromMs = performance.now() + APPLY_LATER_FOR_MS;
        if (stoodStill) this.telemetry.failed('apply webhook', error);
      } else {
        // Whoever holds what one of them needs is waited for once, and not by each half of them again.
        const isForLater = notices.length === 1 || haveWaited || tookTooLong({ beganMs });
        if (!isForLater || isEverybodys(error)) throw error;
        if (!(error instanceof HeldInHostError)) this.telemetry.failed('apply webhook', error);
      }
      return await this.#storeForLater(provider, notices, sinceMs, haveWaited);
    }
  }

  #storeForLater(
    provider: string,
    notices: readonly ProviderNotice[],
    sinceMs: number,
    haveWaited = false,
  ): Promise<WebhookResult[]> {
    const store = async (tx: Transaction): Promise<WebhookResult[]> => {
      // What is locked may be the inbox itself.
      if (haveWaited) await waitNoMore(tx);
      return this.#store(tx, provider, notices, () => false);
    };
    // A few short tries, as where another process stores the same.
    return this.#commit(store, haveWaited ? { patienceMs: STORE_FOR_MS } : { sinceMs });
  }

  /** Of a group, what is about orders that nobody else is at is applied as it is stored. */
  async #applyGroup(
    provider: string,
    notices: readonly ProviderNotice[],
    sinceMs: number,
  ): Promise<WebhookResult[]> {
    const { orders, owners } = await this.#readPayments(notices);
    const held = await this.#acquireFree([...new Set(orders.values())]);
    this.telemetry.locked(held.outcome);
    const isFree = (notice: ProviderNotice): boolean => {
      const orderId = 'paymentId' in notice ? orders.get(notice.paymentId) : undefined;
      // Nearly always all of them are held: then nobody looks at each.
      if (orderId === undefined || held.outcome === 'held') return true;
      return held.keys.has(orderLockKey(orderId));
    };
    try {
      const store = (tx: Transaction) => this.#store(tx, provider, notices, isFree, owners);
      const results = await this.#commit(store, { sinceMs });
      await failpoint('webhook.stored');
      return results;
    } finally {
      await held.release();
    }
  }

  #acquireFree(orderIds: readonly string[]): Promise<Held> {
    const { lock } = this;
    if (isLockOfIds(lock)) return lock.acquireFreeOf(ORDER_LOCK_PREFIX, Uuids.of(orderIds));
    return lock.acquireFree(orderIds.map(orderLockKey));
  }

  #commit(
    work: (tx: Transaction) => Promise<WebhookResult[]>,
    patience: Pick<InTransactionOptions, 'sinceMs' | 'patienceMs'>,
  ): Promise<WebhookResult[]> {
    return inTransaction(this.dataSource, work, { isShared: true, ...patience });
  }

  /** Applies what may be applied now and stores all; the rest gets a deadline that applies it. */
  async #store(
    tx: Transaction,
    provider: string,
    notices: readonly ProviderNotice[],
    mayApply: (notice: ProviderNotice) => boolean,
    owners?: PaymentOwners,
  ): Promise<WebhookResult[]> {
    const fresh = await unknownAmong(tx, provider, notices);
    const ready = fresh.filter(mayApply).map((notice) => ({ provider, notice }));
    const applied = await this.applying.apply(tx, ready, owners);
    await failpoint('webhook.applied');
    const outcomes = new Map(ready.map(({ notice }, nth) => [notice, applied[nth]]));
    const taken = fresh.map((notice) => ({ notice, outcome: outcomes.get(notice) ?? NOT_YET }));
    const ids = await storeWebhooks(tx, provider, taken);
    const results = new Map<ProviderNotice, WebhookResult>();
    const later: string[] = [];
    for (const { notice, outcome } of taken) {
      const webhookId = ids.get(notice.eventId);
      // Another request has brought it meanwhile.
      if (webhookId === undefined) continue;
      const { status } = outcome;
      results.set(notice, status === 'received' ? 'deferred' : status);
      if (status === 'received') later.push(webhookId);
    }
    await this.#applyLater(tx, later);
    return notices.map((notice) => results.get(notice) ?? 'duplicate');
  }

  async #applyLater(tx: Transaction, webhookIds: readonly string[]): Promise<void> {
    if (webhookIds.length === 0) return;
    const [clock] = await tx.rows<{ now: Date }>('SELECT now() AS now');
    const { now } = clock as { now: Date };
    await this.timeouts.arm(
      tx,
      webhookIds.map((subjectId) => ({ kind: 'webhook', subjectId, dueAt: now, version: 1 })),
    );
  }

  /** Whose payments these notices are about, and their orders, by payment id; payments of nobody are left out. */
  async #readPayments(
    notices: readonly ProviderNotice[],
  ): Promise<{ readonly orders: ReadonlyMap<string, string>; readonly owners: PaymentOwners }> {
    const rows = await queryHot<{ id: string; order_id: string; provider: string }>(
      this.dataSource,
      'SELECT id, order_id, provider FROM payments WHERE id = ANY ($1::uuid[])',
      [
        notices
          .flatMap((notice) => ('paymentId' in notice ? [notice.paymentId] : []))
          .filter(isUuid),
      ],
    );
    return {
      orders: new Map(rows.map((row) => [row.id, row.order_id])),
      owners: new Map(rows.map((row) => [row.id, row.provider])),
    };
  }
}
