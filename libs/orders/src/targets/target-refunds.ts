import {
  type Attempted,
  AttemptQueue,
  backoffMs,
  type Due,
  failpoint,
  type Tx,
} from '@app/timeout';
import type { HostTx } from '@app/timeout/module';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnModuleDestroy,
} from '@nestjs/common';
import { pauseAfterFailureMs, pauseWhilePendingMs } from '../money/refund.judgement';
import type { SettledAnswer } from '../money/settle-refunds';
import { askRefund, REFUNDS_AT_ONCE, type RefundAttempt } from '../providers/ask-refund';
import { refundKey } from '../providers/refund-key';
import { isBusy } from '../order/errors';
import type { RefundStatus } from '../order/order';
import {
  armIn,
  BUSY_AGAIN_MS,
  FOLLOW_UP_LOCK_LIMIT,
  REFUND_KIND,
  TARGET_PARTS,
  type TargetParts,
} from './target-parts';
import {
  judgeTargetRefund,
  type MadeAttempt,
  type TargetRefundJudgement,
} from './target-refund.judgement';

interface RefundRow extends RefundAttempt {
  kind: string;
  order_id: string;
  /** How often its provider was asked for this attempt, or after it; 0 again once it has told its end. */
  asked: number;
  error: string | null;
  made: readonly MadeAttempt[];
}

/** Of one whose row somebody has just now, nobody knows how often it was asked about. */
function pauseMs(status: RefundStatus, asked: number | null): number {
  if (asked === null) return BUSY_AGAIN_MS;
  return status === 'pending' ? pauseWhilePendingMs(asked) : backoffMs(asked);
}

const isEndOf = (row: RefundRow, attempt: number, { state }: SettledAnswer): boolean =>
  attempt === row.attempt && state !== 'PENDING';

const whyOf = (answer: SettledAnswer): string | null =>
  answer.state === 'FAILED' ? answer.why : null;

/**
 * Sends refunds to the provider and asks after those under way until they are final. The call
 * carries the refund's own key, so that a crash at any point repeats it safely.
 */
@Injectable()
export class TargetRefunds implements OnModuleDestroy, BeforeApplicationShutdown {
  readonly #queue: AttemptQueue;
  readonly #table: string;

  constructor(@Inject(TARGET_PARTS) private readonly parts: TargetParts) {
    this.#table = `"${parts.runtime.schema}".target_refunds`;
    this.#queue = new AttemptQueue(
      REFUNDS_AT_ONCE,
      (refundId) => this.#advance(refundId),
      (error) => parts.telemetry.failed('run refund', error),
      isBusy,
    );
  }

  /** Arms the next attempt of those that are not over, before this one is made. */
  async handle(due: readonly Due[], tx: HostTx): Promise<{ changed: number }> {
    const ids = due.map(({ subjectId }) => subjectId);
    // A failed attempt is over for good: the next one has a key of its own. By their ids: where Postgres
    // sees that these are open, it may look through all that are. It waits for nobody: whoever has a refund's
    // row is about to end the deadline that is being handled here.
    const rows = await tx.query<{ id: string; status: RefundStatus; asked: number | null }>(
      `WITH free AS (
         SELECT id FROM ${this.#table} WHERE id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED
       ), live AS (
         UPDATE ${this.#table}
            SET attempt = CASE status WHEN 'failed' THEN attempt + 1 ELSE attempt END,
                asked = CASE status WHEN 'failed' THEN 1 ELSE asked + 1 END,
                provider_refund_id = CASE status WHEN 'failed' THEN NULL ELSE provider_refund_id END,
                status = CASE status WHEN 'failed' THEN 'requested' ELSE status END,
                updated_at = now()
          WHERE id = ANY (ARRAY(SELECT id FROM free))
            AND CASE WHEN status IN ('requested', 'pending', 'failed') THEN true ELSE false END
         RETURNING id, status, asked)
       SELECT id, status, asked FROM live
       UNION ALL
       SELECT id, status, NULL FROM ${this.#table}
        WHERE id = ANY ($1::uuid[]) AND id <> ALL (ARRAY(SELECT id FROM free))`,
      [ids],
    );
    await armIn(
      this.parts,
      tx,
      REFUND_KIND,
      rows.map(({ id, status, asked }) => ({ subjectId: id, inMs: pauseMs(status, asked) })),
    );
    const live = rows.filter(({ asked }) => asked !== null);
    tx.afterCommit(() => {
      void this.#queue.run(
        live.map(({ id }) => id),
        tx.judge,
      );
    });
    return { changed: live.length };
  }

  /** Applies what the provider says of an attempt, by answer or by webhook, in whatever order. */
  async settle(tx: Tx, refundId: string, attempt: number, answer: SettledAnswer): Promise<boolean> {
    const [row] = await tx.query<RefundRow>(
      `SELECT * FROM ${this.#table} WHERE id = $1 FOR UPDATE`,
      [refundId],
    );
    if (!row) return false;
    const { status, provider_refund_id: providerRefundId, made } = row;
    // What is told of the refund that the row waits for is about that, whichever attempt has made it.
    const isNamed = providerRefundId !== null && answer.providerRefundId === providerRefundId;
    const told = isNamed ? row.attempt : attempt;
    const facts = { status, attempt: row.attempt, providerRefundId, made };
    const judgement = judgeTargetRefund(facts, told, answer);
    const isFirstEnd = row.asked > 0 && isEndOf(row, told, answer);
    if (judgement.to !== 'unchanged' || judgement.made !== made || isFirstEnd) {
      await this.#write(tx, row, told, answer, judgement);
    }
    if (judgement.to === 'failed') {
      const delay = { subjectId: refundId, inMs: pauseAfterFailureMs(told) };
      await armIn(this.parts, tx, REFUND_KIND, [delay]);
    } else if (judgement.to !== 'pending' && judgement.to !== 'unchanged') {
      await this.parts.timeouts.cancel(tx, { kind: REFUND_KIND, subjectId: refundId });
    }
    this.#tell(tx, row, told, answer, judgement);
    return true;
  }

  async #write(
    tx: Tx,
    row: RefundRow,
    attempt: number,
    answer: SettledAnswer,
    { to, made, isMadeTwice }: TargetRefundJudgement,
  ): Promise<void> {
    const isChanged = to !== 'unchanged';
    await tx.query(
      `UPDATE ${this.#table}
          SET status = $2, provider_refund_id = coalesce($3, provider_refund_id), error = $4,
              updated_at = now(), made = $5::jsonb, asked = CASE WHEN $7 THEN 0 ELSE asked END,
              made_twice_at = CASE WHEN $6 THEN coalesce(made_twice_at, now()) END,
              finished_at = CASE WHEN $2 <> 'succeeded' THEN NULL
                                 WHEN status = 'succeeded' THEN finished_at ELSE now() END
        WHERE id = $1`,
      [
        row.id,
        isChanged ? to : row.status,
        // An earlier attempt's success is none of the attempt that stands in the row.
        (isChanged && attempt === row.attempt && answer.providerRefundId) || null,
        // Of one that waits for a person the last refusal stands, whatever else is said of it.
        isChanged ? (whyOf(answer) ?? (to === 'needs_attention' ? row.error : null)) : row.error,
        JSON.stringify(made),
        isMadeTwice,
        isEndOf(row, attempt, answer),
      ],
    );
  }

  #tell(
    tx: Tx,
    { id: refundId, kind, order_id: orderId }: RefundRow,
    attempt: number,
    answer: SettledAnswer,
    { alert, isFirstTold }: TargetRefundJudgement,
  ): void {
    const about = { kind, orderId, refundId, attempt };
    const { telemetry } = this.parts;
    if (isFirstTold) {
      const providerRefundId = answer.providerRefundId || refundKey(refundId, attempt);
      tx.afterCommit(() => telemetry.alert('refund_made_twice', { ...about, providerRefundId }));
    }
    if (alert !== undefined) {
      tx.afterCommit(() => telemetry.alert(alert, { ...about, why: whyOf(answer) }));
    }
  }

  onModuleDestroy(): void {
    this.#queue.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#queue.ended();
  }

  async #advance(refundId: string): Promise<Attempted> {
    const { runtime } = this.parts;
    await failpoint('target.refund_claimed');
    // Read when its turn comes: a webhook may have settled it meanwhile.
    const row = await runtime.inHostTransaction(async (tx) => {
      const [found] = await tx.query<RefundRow>(`SELECT * FROM ${this.#table} WHERE id = $1`, [
        refundId,
      ]);
      return found;
    });
    // Not asked of Postgres: it might look through all that are open instead of for this one.
    if (row?.status !== 'requested' && row?.status !== 'pending') return 'nothing';
    const answer = await askRefund(this.parts.providers, row);
    await failpoint('target.refund_answered');
    // No answer is no answer: the deadline that is armed already asks again with the same key.
    if (answer.state === 'UNKNOWN') return 'nothing';
    await runtime.inHostTransaction(
      (tx) => this.settle(tx, row.id, row.attempt, answer),
      FOLLOW_UP_LOCK_LIMIT,
    );
    return 'succeeded';
  }
}
