import {
  type CancelOrderByOperator,
  type CloseResult,
  type CloseRun,
  type CreateRefund,
  type ErrandArgs,
  ErrandError,
  type ErrandName,
  type ErrandResult,
  type ExtendWindow,
  leaveErrand,
  type Queryable,
  type SettleOrder,
  type SettlePayment,
} from '@app/orders';
import { whileInterruptible } from './interruption';

/** Orders an errand closes, as many as a worker closes at once; and errands that wait at the same time. */
const ORDERS_EACH = 8;
const AT_ONCE = 8;

/** The use cases that change orders, as a worker carries them out: it has the host's hooks, and the providers. */
export class AtHost {
  constructor(
    private readonly sql: Queryable,
    private readonly note: (line: string) => void,
  ) {}

  readonly cancelOrder: Pick<CancelOrderByOperator, 'cancel'> = {
    cancel: (...args) => this.#leave('orders.cancel', args),
  };
  readonly settleOrder: Pick<SettleOrder, 'settle'> = {
    settle: (orderId, { paymentId, ...command }) =>
      paymentId === undefined
        ? this.#leave('orders.settle', [orderId, command])
        : this.#leave('orders.settle-payment', [orderId, { ...command, paymentId }]),
  };
  readonly settlePayment: Pick<SettlePayment, 'settle'> = {
    settle: (...args) =>
      this.#leave(args[1] === 'correct' ? 'payments.correct' : 'payments.settle', args),
  };
  readonly extendWindow: Pick<ExtendWindow, 'extendOnce'> = {
    extendOnce: (...args) => this.#leave('orders.extend', args),
  };
  readonly createRefund: Pick<CreateRefund, 'create'> = {
    create: (...args) => this.#leave('refunds.create', args),
  };
  readonly createRefundAtProvider: Pick<CreateRefund, 'create'> = {
    create: (...args) => this.#leave('refunds.create-at-provider', args),
  };

  /** As {@link ForceCloseOrders.run}: once nobody answers for some of them, no others are begun. */
  async forceClose(orderIds: readonly string[], run: CloseRun): Promise<CloseResult[]> {
    const { signal = new AbortController().signal, actor, reason, dryRun = false } = run;
    const action = { actor, reason, dryRun };
    const results = new Map<string, CloseResult>();
    const left = [...orderIds];
    const closeNext = async (): Promise<void> => {
      while (left.length > 0 && !signal.aborted) {
        const ids = left.splice(0, ORDERS_EACH);
        const closed = leaveErrand(this.sql, signal, 'orders.force-close', [ids, action]);
        const ended = await closed.catch((error: unknown) => {
          left.length = 0;
          return withoutAnswer(ids, error);
        });
        for (const result of ended) {
          results.set(result.orderId, result);
          run.onResult?.(result);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, closeNext));
    return orderIds.flatMap((id) => results.get(id) ?? []);
  }

  #leave<Name extends ErrandName>(what: Name, args: ErrandArgs<Name>): Promise<ErrandResult<Name>> {
    return whileInterruptible(this.note, async (signal): Promise<ErrandResult<Name>> => {
      const result = await leaveErrand(this.sql, signal, what, args);
      // Who stops a rehearsal wants no change to follow it.
      const action = args.at(-1) as { readonly dryRun?: boolean };
      if (action.dryRun && signal.aborted) throw new ErrandError('interrupted', what);
      return result;
    });
  }
}

/** None of orders that were not begun, as somebody interrupted. */
function withoutAnswer(orderIds: readonly string[], error: unknown): CloseResult[] {
  if (!(error instanceof ErrandError)) throw error;
  if (error.state === 'interrupted') return [];
  const isTaken = error.state === 'unanswered';
  const why = isTaken ? ('unavailable' as const) : ('hooks_elsewhere' as const);
  const message = isTaken
    ? 'No answer has come of the worker of the host: whether it was done is not known'
    : 'No worker of the host has come for it: it is withdrawn, and nothing was changed';
  return orderIds.map((orderId) => ({ orderId, outcome: 'failed', status: null, why, message }));
}
