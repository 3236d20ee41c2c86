import type { Transaction } from '@app/timeout';
import { ERASED } from './subject';

/** Who answers for a change, and why it was made. */
export interface Accountable {
  readonly actor: string;
  readonly reason: string;
}

/** A change, or its rehearsal: the real transactions, rolled back. */
export interface ActionRun extends Accountable {
  readonly dryRun?: boolean;
}

/** In characters, for the API and the CLI: a reason of a letter or two tells nobody anything. */
export const REASON_LENGTH = { min: 3, max: 500 } as const;

/** What begins as that which stands for an erased reason counts as erased, and would be kept for good. */
export const isErasable = (reason: string): boolean => !reason.startsWith(ERASED);
export const ERASABLE_RULE = `must not begin with "${ERASED}", as what stands for an erased one does`;

export type OperatorAction =
  | 'payment.refund'
  | 'payment.keep'
  | 'payment.confirm'
  | 'payment.correct'
  | 'payment.accept'
  | 'payment.end'
  | 'refund.create'
  | 'refund.retry'
  | 'refund.done'
  | 'webhook.dismiss'
  | 'webhook.replay'
  | 'customer.erase'
  | 'deadline.release'
  | 'events.rewind'
  | 'timeouts.resume'
  | 'reconcile.close'
  | 'reconcile.settle'
  | 'webhook_endpoint.create'
  | 'webhook_endpoint.delete'
  | 'webhook_endpoint.redeliver'
  | 'webhook_endpoint.rotate'
  | 'webhook_endpoint.switch_on';

/** Writes down what an operator did, in the transaction that does it. */
export async function recordAction(
  tx: Transaction,
  action: OperatorAction,
  subjectKind:
    | 'customer'
    | 'payment'
    | 'refund'
    | 'webhook'
    | 'deadline'
    | 'brake'
    | 'relay'
    | 'webhook_endpoint'
    | 'reconcile_run',
  subjectIds: readonly string[],
  { actor, reason }: Accountable,
): Promise<void> {
  if (subjectIds.length === 0) return;
  await tx.rows(
    `INSERT INTO operator_actions (actor, action, subject_kind, subject_id, reason)
     SELECT $1, $2, $3, id, $5 FROM unnest($4::uuid[]) AS s (id)`,
    [actor, action, subjectKind, subjectIds, reason],
  );
}
