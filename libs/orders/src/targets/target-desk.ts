import type { HostDeadline } from '@app/timeout';
import { LastcallError } from '../order/errors';
import type { Accountable } from '../order/operator-action';
import { isPlainText, PLAIN_TEXT_RULE } from '../order/plain-text';
import { requestTargetRefunds } from './request-target-refunds';
import { retryTargetRefund } from './retry-target-refund';
import { askingKind, REFUND_KIND, WEBHOOK_KIND } from './target-parts';
import { NO_ID, TargetPayments } from './target-payments';
import { BY_HAND, type MadeAttempt } from './target-refund.judgement';
import { nobodyWaits, nothingTaken, nothingToRefundBy, otherAttempts } from './target-refusals';
import { nowMsBy, type TargetSql } from './target-sql';
import {
  attemptsMade,
  exitsOf,
  findTargetWait,
  listTargetWaits,
  MADE_AS,
  type TargetExit,
  type TargetWait,
} from './target-waits';

/** Who ends a wait and why, and for `paid` which of the shop's payments has paid the order. */
export interface TargetVerdict extends Accountable {
  readonly payment?: string | undefined;
  /** Of a refund that was made twice: its `detail` as it was looked at. Another attempt that was told of since is none of those. */
  readonly seen?: string | undefined;
}

type Due = Pick<HostDeadline, 'kind' | 'subjectId'>;
type Arm = (tx: TargetSql, deadlines: readonly HostDeadline[]) => Promise<unknown>;
/** Answers with what has to be looked at now. */
type End = (
  tx: TargetSql,
  ref: readonly string[],
  wait: TargetWait,
  given: TargetVerdict,
) => Promise<Due[]>;

export const MOST_OF_EACH = 200;

/**
 * Where a person ends what waits, in the schema of our own tables: by the shop's own process, or by a
 * command, which cannot reach the shop's code. What changes the shop's orders is written down as a word, and
 * done in moments by a process that rings.
 */
export class TargetDesk {
  readonly #ends: Readonly<Record<TargetExit, End>>;

  constructor(
    private readonly schema: string,
    private readonly arm: Arm,
  ) {
    this.#ends = {
      closed: (tx, ref, wait) => this.#tell(tx, ref, wait, 'closed', null),
      paid: (tx, ref, wait, { payment }) => this.#tell(tx, ref, wait, 'paid', payment),
      retry: (tx, [id]) => this.#retryRefund(tx, id as string),
      done: (tx, [id]) => this.#finishRefund(tx, id as string),
      replay: (tx, [id]) => this.#replayWebhook(tx, id as string),
      dismiss: (tx, [id], { what, detail }, { seen = detail }) =>
        what === 'refund_twice'
          ? this.#dismissSecond(tx, id as string, seen)
          : this.#dismissWebhook(tx, id as string),
      refund: (tx, ref, _wait, by) => this.#settleMoney(tx, ref, 'refund', by),
      keep: (tx, ref, _wait, by) => this.#settleMoney(tx, ref, 'keep', by),
      release: (tx, [id], wait) => this.#releaseDeadline(tx, id as string, wait),
    };
  }

  /** What waits, the oldest first; of each kind at most so many, what has waited for too long before the rest. */
  list(sql: TargetSql, mostOfEach = MOST_OF_EACH): Promise<TargetWait[]> {
    return listTargetWaits(sql, this.schema, mostOfEach);
  }

  /**
   * Ends a wait, in the caller's transaction, and writes down who did.
   * @throws {LastcallError} not_found where nothing of this id waits (any more); invalid_request for an
   *   exit that this wait does not have (yet), and for an actor or a reason that is no text
   */
  async settle(
    tx: TargetSql,
    id: string,
    exit: TargetExit,
    given: TargetVerdict,
  ): Promise<TargetWait> {
    assertAccountable(given);
    const found = await findTargetWait(tx, this.schema, id, exit);
    if (!found) throw nobodyWaits(id);
    const { wait, ref } = found;
    // One that it lacks as it is now says by itself why.
    if (!exitsOf(wait.what).includes(exit)) {
      const message = `${id} is ended by one of: ${wait.exits.join(', ')}; not by "${exit}"`;
      throw new LastcallError('invalid_request', message);
    }
    if ((exit === 'paid') !== (given.payment !== undefined)) {
      const message =
        'An order is paid by a payment, named by the id that the shop gave it; nothing else is';
      throw new LastcallError('invalid_request', `payment: ${message}`);
    }
    await this.#armNow(tx, await this.#ends[exit](tx, ref, wait, given));
    await tx.query(
      `INSERT INTO ${this.#table('target_actions')} (actor, action, subject, reason) VALUES ($1, $2, $3, $4)`,
      [given.actor, `${wait.what}.${exit}`, id, given.reason],
    );
    return wait;
  }

  /** By the database's clock: a machine whose own is ahead must delay nothing. */
  async #armNow(tx: TargetSql, due: readonly Due[]): Promise<void> {
    if (due.length === 0) return;
    const dueAt = new Date(await nowMsBy(tx));
    await this.arm(
      tx,
      due.map((one) => ({ ...one, dueAt })),
    );
  }

  async #tell(
    tx: TargetSql,
    ref: readonly string[],
    { what }: TargetWait,
    as: 'closed' | 'paid',
    payment: string | null | undefined,
  ): Promise<Due[]> {
    const status = what === 'payment_unended' ? 'paid' : 'closing';
    const [kind, orderId] = ref as [string, string];
    await this.#changeOne(
      tx,
      `UPDATE ${this.#table('target_orders')} SET told = $3, told_payment = $4
        WHERE kind = $1 AND order_id = $2 AND status = $5 RETURNING now() AS now`,
      [kind, orderId, as, payment ?? null, status],
    );
    return dueNow(askingKind(kind), orderId);
  }

  async #retryRefund(tx: TargetSql, id: string): Promise<Due[]> {
    if (!(await retryTargetRefund(tx, this.schema, id))) throw nobodyWaits(`refund:${id}`);
    return dueNow(REFUND_KIND, id);
  }

  /**
   * Whatever is armed for it finds it finished. It was made by hand where no attempt stands as made: then what its
   * provider still says of one sends nothing again.
   */
  async #finishRefund(tx: TargetSql, id: string): Promise<Due[]> {
    const madeByHand: MadeAttempt = {
      ...{ attempt: BY_HAND, providerRefundId: null },
      ...{ hasFailed: false, isDismissed: false },
    };
    await this.#changeOne(
      tx,
      `UPDATE ${this.#table('target_refunds')}
          SET status = 'succeeded', updated_at = now(), finished_at = now(),
              made = CASE WHEN ${attemptsMade()} IS NULL THEN made || $2::jsonb ELSE made END
        WHERE id = $1 AND status <> 'succeeded' RETURNING id`,
      [id, JSON.stringify(madeByHand)],
    );
    return [];
  }

  /** Whether it was fetched back or given up, the reason says. What is told of these once more is known. */
  async #dismissSecond(tx: TargetSql, id: string, seen: string): Promise<Due[]> {
    const dismissed = await tx.query(
      `UPDATE ${this.#table('target_refunds')}
          SET made_twice_at = NULL, made = (
            SELECT jsonb_agg(one || '{"isDismissed": true}') FROM jsonb_array_elements(made) AS one)
        WHERE id = $1 AND made_twice_at IS NOT NULL AND ${MADE_AS} = $2 RETURNING id`,
      [id, seen],
    );
    if (dismissed.length === 0) throw otherAttempts(id);
    return [];
  }

  async #replayWebhook(tx: TargetSql, id: string): Promise<Due[]> {
    await this.#changeOne(
      tx,
      `UPDATE ${this.#table('target_webhooks')}
          SET status = 'received', result = NULL, attempts = 0, processed_at = NULL
        WHERE id = $1 AND status = 'held' RETURNING id`,
      [id],
    );
    return dueNow(WEBHOOK_KIND, id);
  }

  async #dismissWebhook(tx: TargetSql, id: string): Promise<Due[]> {
    await this.#changeOne(
      tx,
      `UPDATE ${this.#table('target_webhooks')} SET status = 'processed', result = 'dismissed', processed_at = now()
        WHERE id = $1 AND status = 'held' RETURNING id`,
      [id],
    );
    return [];
  }

  async #settleMoney(
    tx: TargetSql,
    ref: readonly string[],
    verdict: 'refund' | 'keep',
    by: Accountable,
  ): Promise<Due[]> {
    const [provider, paymentId, providerPaymentId] = ref as [string, string, string];
    if (verdict === 'refund' && providerPaymentId === NO_ID) throw nothingToRefundBy();
    const payments = new TargetPayments(this.schema);
    const held = { provider, paymentId, providerPaymentId };
    const found = await payments.settleHeld(tx, held, verdict, by);
    if (!found) throw nobodyWaits(`money:${ref.join('/')}`);
    const { kind, orderId, money } = found;
    if (verdict === 'refund' && money.amount === 0) throw nothingTaken();
    // What was told of this money is settled with it; what tells of another amount waits on.
    await tx.query(
      `UPDATE ${this.#table('target_webhooks')} SET result = 'settled', status = 'processed', processed_at = now()
        WHERE status = 'held' AND result = 'money_on_hold' AND provider = $1
          AND notice ->> 'paymentId' = $2 AND notice ->> 'providerPaymentId' = $3
          AND notice -> 'money' ->> 'amount' = $4 AND notice -> 'money' ->> 'currency' = $5`,
      [provider, paymentId, providerPaymentId, String(money.amount), money.currency],
    );
    if (verdict === 'keep') return [];
    const payment = { provider, paymentId, orderId };
    const refund = { payment, providerPaymentId, money, reason: 'operator' };
    const refunds = await requestTargetRefunds(tx, this.schema, kind, [refund]);
    return refunds.flatMap((id) => dueNow(REFUND_KIND, id));
  }

  /** Armed anew: the deadline that is held has another id, and loses. */
  async #releaseDeadline(tx: TargetSql, id: string, wait: TargetWait): Promise<Due[]> {
    await this.#changeOne(
      tx,
      `DELETE FROM ${this.#table('held_deadlines')} WHERE subject_id = $1::uuid RETURNING kind`,
      [id],
    );
    return dueNow(wait.kind as string, wait.subject as string);
  }

  /** Zero rows: somebody has ended it at this moment. */
  async #changeOne(tx: TargetSql, sql: string, params: readonly unknown[]): Promise<void> {
    const rows = await tx.query(sql, params);
    if (rows.length === 0) throw nobodyWaits(String(params[0]));
  }

  #table(name: string): string {
    return `"${this.schema}".${name}`;
  }
}

const dueNow = (kind: string, subjectId: string): Due[] => [{ kind, subjectId }];

function assertAccountable({ actor, reason }: Accountable): void {
  for (const [name, text] of Object.entries({ actor, reason })) {
    if (typeof text === 'string' && text.trim() && isPlainText(text)) continue;
    throw new LastcallError(
      'invalid_request',
      `${name}: it has to be given, and ${PLAIN_TEXT_RULE}`,
    );
  }
}
