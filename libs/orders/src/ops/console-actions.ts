import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ExtendWindow } from '../closing/extend-window';
import { DATABASE } from '../data-source';
import { Deliveries } from '../deliveries/deliveries';
import { WebhookEndpoints } from '../deliveries/endpoints';
import { ERROR_STATUS, type ErrorCode, LastcallError } from '../order/errors';
import type { ActionRun } from '../order/operator-action';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { CancelOrderByOperator } from './cancel-order-by-operator';
import { DismissWebhook } from './dismiss-webhook';
import { toEach } from './each-subject';
import { FinishRefund } from './finish-refund';
import { ForceCloseOrders } from './force-close-orders';
import { type PaymentDecision, type SettledPayment, SettlePayment } from './held-payments';
import { RetryRefund } from './refunds';
import { ReleaseDeadlines } from './release-deadlines';
import { SettleOrder } from './settle-order';
import { TimeoutBrake } from './timeout-brake';
import { ReplayWebhook } from './webhooks';

/** What the console can do, each to one subject or to many of the same kind. */
export const CONSOLE_ACTIONS = [
  ...(['force_close', 'extend', 'cancel', 'settle_closed', 'settle_paid'] as const),
  ...(['refund_money', 'keep_money', 'accept_money', 'retry_refund', 'finish_refund'] as const),
  ...(['correct_money'] as const),
  ...(['replay_webhook', 'dismiss_webhook', 'release_deadline', 'resume_timeouts'] as const),
  ...(['redeliver_webhooks', 'switch_endpoint_on'] as const),
] as const;
export type ConsoleAction = (typeof CONSOLE_ACTIONS)[number];

/** What became of one subject, or in a rehearsal would become of it. */
export interface ActionResult {
  readonly id: string;
  readonly isDone: boolean;
  /** What it is then; where it is refused, why. */
  readonly says: string;
  readonly code: ErrorCode | null;
}

/** Subjects at once: each takes a connection of the API's pool of 20. */
const CONCURRENCY = 4;
const EXTENSION_MS = 10 * 60_000;

/** One change by an operator, which is the same however often it is sent with the same key. */
export interface ConsoleRun extends ActionRun {
  readonly idempotencyKey?: string | undefined;
  /** Of `finish_refund`: what was sent, in minor units, where others have taken a part of the money. */
  readonly amount?: number | undefined;
}

type Act = (
  id: string,
  run: Omit<ConsoleRun, 'idempotencyKey'>,
  key: string | undefined,
) => Promise<string>;

/** Everything an operator does in the console, by the same use cases as the API and the commands. */
@Injectable()
export class ConsoleActions {
  readonly #acts: Readonly<Record<ConsoleAction, Act>>;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
    closing: ForceCloseOrders,
    extending: ExtendWindow,
    canceling: CancelOrderByOperator,
    settling: SettleOrder,
    payments: SettlePayment,
    refunds: RetryRefund,
    finishing: FinishRefund,
    replaying: ReplayWebhook,
    dismissing: DismissWebhook,
    deadlines: ReleaseDeadlines,
    brake: TimeoutBrake,
    deliveries: Deliveries,
    endpoints: WebhookEndpoints,
  ) {
    const settleMoney =
      (decision: PaymentDecision): Act =>
      async (id, run) => {
        const settled = await payments.settle(id, decision, run);
        if (decision === 'correct') return takenNow(settled);
        return decision === 'refund' && settled.refundAmount === 0
          ? NOTHING_LEFT
          : DECIDED[decision];
      };
    this.#acts = {
      force_close: (id, run) => forceClose(closing, id, run),
      // Of these the one that would do more the second time.
      extend: async (id, run, idempotencyKey) => {
        const command = { by: 'operator', byMs: EXTENSION_MS, idempotencyKey, ...run } as const;
        await extending.extend(id, command);
        return 'ten more minutes to pay';
      },
      cancel: async (id, run) => {
        const { refundIds } = await canceling.cancel(id, run);
        return `canceled, and ${refundIds.length} refunds on their way`;
      },
      settle_closed: async (id, run) => {
        await settling.settle(id, { as: 'closed', ...run });
        return 'closed';
      },
      settle_paid: async (id, run) => {
        const { becomes } = await settling.settle(id, { as: 'paid', ...run });
        return becomes.status;
      },
      refund_money: settleMoney('refund'),
      keep_money: settleMoney('keep'),
      accept_money: settleMoney('accept'),
      correct_money: settleMoney('correct'),
      retry_refund: async (id, run) =>
        `sent to the provider, try ${(await refunds.retry(id, run)).attempt}`,
      finish_refund: async (id, run) => {
        const { refund, rest } = await finishing.finish(id, run);
        const how = rest ? `${rest.amount} of it was sent by hand, in minor units` : refund.status;
        return `over: ${how}, and nothing is sent any more`;
      },
      replay_webhook: async (id, run) => `${(await replaying.replay(id, run)).type}, applied again`,
      dismiss_webhook: async (id, run) => {
        await dismissing.dismiss(id, run);
        return 'dismissed, without effect';
      },
      release_deadline: (id, run) => release(deadlines, id, run),
      resume_timeouts: (id, run) => resume(brake, id, run),
      redeliver_webhooks: (id, run) => redeliver(deliveries, id, run),
      switch_endpoint_on: (id, run) => switchOn(endpoints, id, run),
    };
  }

  /** To each of these; what is refused, or fails, is a result like the others. */
  async run(
    action: ConsoleAction,
    ids: readonly string[],
    { idempotencyKey, ...run }: ConsoleRun,
  ): Promise<ActionResult[]> {
    const results = await toEach<ActionResult>(ids, {
      ...{ what: `console ${action}`, concurrency: CONCURRENCY, refused },
      ...{ dataSource: this.dataSource, telemetry: this.telemetry },
      act: async (id) => ({
        id,
        isDone: true,
        says: await this.#acts[action](id, run, idempotencyKey),
        code: null,
      }),
    });
    return ids.map((id, place) => results[place] ?? refused(id, NOT_BEGUN));
  }
}

const NOT_BEGUN = new LastcallError('unavailable', 'Not begun: the database cannot be reached');

function refused(id: string, { code, message }: LastcallError): ActionResult {
  // Of these nothing else tells which one it is.
  const says = ERROR_STATUS[code] >= 500 ? `${id}: ${message}` : message;
  return { id, isDone: false, says, code };
}

async function forceClose(closing: ForceCloseOrders, id: string, run: ActionRun): Promise<string> {
  const [result] = await closing.run([id], run);
  const { outcome, why, message } = result ?? { outcome: 'failed', why: null, message: null };
  if (outcome === 'closed') return 'closed';
  if (outcome === 'closing') return 'closing, and its provider is asked first';
  throw new LastcallError(why ?? 'order_not_closable', message ?? `Order ${id} was not closed`);
}

async function release(deadlines: ReleaseDeadlines, id: string, run: ActionRun): Promise<string> {
  const released = await deadlines.release({ subjectIds: [id] }, run);
  const kinds = released.map(({ kind }) => kind).join(', ');
  if (kinds) return `due now: ${kinds}`;
  throw new LastcallError('not_found', `No deadline of ${id} is held any more`);
}

async function redeliver(deliveries: Deliveries, id: string, run: ActionRun): Promise<string> {
  const { items } = await deliveries.list({ endpointId: id, status: 'dead', limit: 1 });
  if (items.length === 0) {
    throw new LastcallError('not_found', 'No webhook of this endpoint is given up any more');
  }
  const { redelivered } = await deliveries.redeliver(id, undefined, run);
  return `sent again: ${redelivered}, the oldest first`;
}

async function switchOn(endpoints: WebhookEndpoints, id: string, run: ActionRun): Promise<string> {
  if ((await endpoints.read(id)).status === 'on') {
    throw new LastcallError('not_found', 'This endpoint is switched on again already');
  }
  await endpoints.switchOn(id, run);
  return 'on, and what waits is sent';
}

/** Of the brake that was looked at: one that engaged since then has another cause. */
async function resume(brake: TimeoutBrake, id: string, run: ActionRun): Promise<string> {
  const { kind, waiting } = await brake.release(run, { seen: { id } });
  return `running; ${waiting} deadlines of the kind ${kind} are handled`;
}

const takenNow = ({ correctedAmount, payment }: SettledPayment): string =>
  `taken: ${correctedAmount} ${payment.capturedCurrency} instead of ${payment.capturedAmount}, in minor units` +
  (payment.holdReason === 'capture_changed' ? '' : '; on hold until it is refunded or kept');

const NOTHING_LEFT = 'off hold: nothing of it was left to go back';
const DECIDED: Readonly<Record<Exclude<PaymentDecision, 'correct'>, string>> = {
  refund: 'on its way back to the buyer',
  keep: 'kept by the shop',
  accept: 'paying its order, which is open again',
};
