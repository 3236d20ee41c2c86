import { type DueDeadline, inTransaction, type Transaction } from '@app/timeout';
import type { Type } from '@nestjs/common';
import type { MovementSource } from '../../libs/orders/src/money/movements';
import { type SettledAnswer, SettleRefunds } from '../../libs/orders/src/money/settle-refunds';
import { CreateRefund } from '../../libs/orders/src/ops/create-refund';
import type { Placed } from './money';
import { until } from './until';
import type { World } from './world';

interface RefundHandler {
  handle(due: readonly DueDeadline[], tx: Transaction): Promise<unknown>;
}

const OLGA = { actor: 'olga', reason: 'case 9' };

/** What a provider answers about the nth attempt. */
export const made = (n: number) => ({ state: 'SUCCEEDED', providerRefundId: `re-${n}` }) as const;
export const pending = (n: number) => ({ state: 'PENDING', providerRefundId: `re-${n}` }) as const;
export const failed = (n: number) =>
  ({ state: 'FAILED', providerRefundId: `re-${n}`, why: 'account closed' }) as const;
/** Nothing was made, as far as the provider says. */
export const REFUSED = { state: 'FAILED', providerRefundId: null, why: 'try later' } as const;

/** Drives the attempts of a world's refunds step by step, by their handler: nothing comes due there by itself. */
export function refundAttemptsOf(world: () => World, handler: Type<RefundHandler>) {
  const steps = {
    /** One more refund that a paid order owes. */
    owed: async (order: Placed, amount: number): Promise<string> => {
      await world()
        .get(CreateRefund)
        .create(order.id, { ...OLGA, amount });
      const [refund] = await world().rows<{ id: string }>(
        'SELECT id FROM refunds WHERE payment_id = $1 ORDER BY created_at DESC LIMIT 1',
        [order.paymentId],
      );
      return (refund as { id: string }).id;
    },
    settle: (
      id: string,
      attempt: number,
      answer: SettledAnswer,
      source: MovementSource = 'webhook',
    ): Promise<boolean | 'busy'> =>
      inTransaction(world().dataSource, (tx) =>
        world().get(SettleRefunds).settle(tx, id, attempt, answer, source),
      ),
    /** What a deadline of it does that is due now, before the provider is asked. */
    comesDue: (subjectId: string) =>
      inTransaction(world().dataSource, (tx) =>
        world()
          .get(handler)
          .handle([{ kind: 'refund', subjectId, version: 1, dueAt: new Date(), failures: 0 }], tx),
      ),
    pauseIsOver: (id: string) =>
      world().rows(`UPDATE refunds SET updated_at = now() - interval '2 seconds' WHERE id = $1`, [
        id,
      ]),
    isAsked: (id: string) =>
      world().rows('UPDATE refunds SET asked_at = now() WHERE id = $1', [id]),
    /** Some connection waits for a row, in a statement like this. */
    untilOneWaits: (query: string) =>
      until('the other waits for the row', async () => {
        const waiting = await world().rows(
          `SELECT FROM pg_stat_activity WHERE datname = current_database()
              AND wait_event_type = 'Lock' AND query LIKE $1`,
          [query],
        );
        return waiting.length > 0;
      }),
  };
  const { settle, pauseIsOver, comesDue, isAsked } = steps;

  /** Its first attempt ended so, and the second is under way: the provider has it, where it says so. */
  async function triedAgain(
    id: string,
    first: SettledAnswer,
    second?: SettledAnswer,
  ): Promise<void> {
    await settle(id, 1, first, 'answer');
    await pauseIsOver(id);
    await comesDue(id);
    await isAsked(id);
    if (second) await settle(id, 2, second, 'answer');
  }

  /** The first attempt was refused and made after all, as is told while the second is under way. */
  async function contradicted(id: string, second?: SettledAnswer): Promise<void> {
    await triedAgain(id, REFUSED, second);
    await settle(id, 1, made(1));
  }

  return { ...steps, triedAgain, contradicted };
}
