import { type DatabaseClock, isEverybodys, isTableLocked } from '@app/timeout';
import { GroupCommit } from '../group-commit';
import type { HowToCarryOut } from '../group-commit-options';
import { LastcallError } from '../order/errors';
import type { OrdersTelemetry, WebhookResult } from '../order/telemetry';
import type { ProviderNotice } from '../providers/payment-provider';
import type { PaymentProviders } from '../providers/payment-providers';
import { readNotice, type WebhookHeaders } from './read-notice';

const MAX_GROUP = 200;
const LANES = 2;
/** More than a small group takes: many at once are taken by both. */
const NEXT_LANE_AFTER_MS = 20;
const MAX_WAITING = 10_000;

/** Stores these, of one provider, in one transaction; answers in their order. */
export type TakeNotices = (
  provider: string,
  notices: readonly ProviderNotice[],
  how: HowToCarryOut,
) => Promise<WebhookResult[]>;

export interface NoticeReceiver {
  readonly providers: PaymentProviders;
  readonly telemetry: OrdersTelemetry;
  readonly clock: DatabaseClock;
  /** A notice as it is to be taken; as it was read unless given. */
  readonly asTaken?: (notice: ProviderNotice) => ProviderNotice;
  /** What callers are told of what the database fails with: that itself unless given. */
  readonly orRefusal?: <T>(work: Promise<T>) => Promise<T>;
}

/** Receives providers' webhooks: verified on the raw bytes, and stored many at once. */
export class NoticeGroups {
  /** By provider's name: a busy one's notices wait for each other, and for nobody else's. */
  readonly #groups: ReadonlyMap<string, GroupCommit<ProviderNotice, WebhookResult>>;

  constructor(
    private readonly receiver: NoticeReceiver,
    take: TakeNotices,
  ) {
    const group = (provider: string): GroupCommit<ProviderNotice, WebhookResult> =>
      new GroupCommit((notices, how) => take(provider, notices, how), {
        maxGroup: MAX_GROUP,
        lanes: LANES,
        nextLaneAfterMs: NEXT_LANE_AFTER_MS,
        maxWaiting: MAX_WAITING,
        overflow: () => new LastcallError('busy', 'Too many webhooks at once; send it again'),
        isEverybodys,
        isForAllWaiting: isTableLocked,
      });
    this.#groups = new Map(receiver.providers.names.map((name) => [name, group(name)]));
  }

  /**
   * Resolves when the webhook is stored.
   * @throws {LastcallError} unknown_provider, bad_signature, stale_timestamp, invalid_request, busy
   */
  async receive(providerName: string, rawBody: Buffer, headers: WebhookHeaders): Promise<void> {
    const { providers, telemetry, clock, asTaken, orRefusal = itself } = this.receiver;
    const provider = providers.find(providerName);
    const group = this.#groups.get(providerName);
    if (!provider || !group) {
      throw new LastcallError('unknown_provider', `No provider "${providerName}" is switched on`);
    }
    // By the database's clock: a machine whose own is wrong must refuse no genuine webhook.
    await orRefusal(clock.freshen());
    const now = new Date(clock.nowMs());
    const said = await readNotice(provider, rawBody, headers, { now, telemetry });
    telemetry.webhook(await orRefusal(group.submit(asTaken?.(said) ?? said)));
  }

  /** All that were received are stored, or have failed. */
  async drained(): Promise<void> {
    await Promise.all([...this.#groups.values()].map((group) => group.drained()));
  }
}

const itself = <T>(work: Promise<T>): Promise<T> => work;
