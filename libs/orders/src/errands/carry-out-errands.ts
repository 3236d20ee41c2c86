import { inTransaction, isInfrastructureError, queryRows, withTimeLimit } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ExtendWindow } from '../closing/extend-window';
import { BACKGROUND } from '../data-source';
import { CancelOrderByOperator } from '../ops/cancel-order-by-operator';
import { CreateRefund } from '../ops/create-refund';
import { refusalOf } from '../ops/each-subject';
import { ForceCloseOrders } from '../ops/force-close-orders';
import { SettlePayment } from '../ops/held-payments';
import { SettleOrder } from '../ops/settle-order';
import { LastcallError } from '../order/errors';
import { OrderHooks } from '../order/order-hooks';
import { UUID } from '../order/uuid';
import { HOSTS_PROVIDERS_AS } from '../ops/running-settings';
import { PaymentProviders } from '../providers/payment-providers';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import {
  type Answer,
  type ErrandKinds,
  type ErrandName,
  type Refusal,
  WAITED_FOR_MS,
} from './errand-kinds';

interface ErrandRow {
  readonly id: string;
  readonly what: ErrandName;
  readonly args: readonly unknown[];
}

/** No hook hears of these: each worker carries them out. */
const WITHOUT_HOOKS: readonly ErrandName[] = ['orders.extend', 'refunds.create-at-provider'];
/**
 * Of a payment at a provider that processes have told of and that is none of $4, this worker's: what that one would not
 * send back, or how it moves the end of a payment, only a worker knows that has it. What hooks hear of as well is left to
 * one that has both, where there is one. What our own providers would not send back any worker knows.
 */
const IS_OF_OTHERS = `CASE WHEN what IN ('orders.extend', 'refunds.create', 'refunds.create-at-provider')
                             AND args ->> 0 ~* '${UUID.source}' THEN EXISTS (
  SELECT FROM payments p JOIN processes has
      ON p.provider = ANY (string_to_array(
           has.settings ->> CASE what WHEN 'orders.extend' THEN 'PAYMENT_PROVIDERS' ELSE '${HOSTS_PROVIDERS_AS}' END, ','))
   WHERE p.order_id = (args ->> 0)::uuid AND p.provider <> ALL ($4::text[])
     AND p.status = CASE what WHEN 'orders.extend' THEN 'open' ELSE 'succeeded' END
     AND (what <> 'refunds.create' OR has.has_hooks))
  ELSE false END`;
/** Errands at once: each closes up to eight orders at once, by as many connections of the API's pool of 20. */
const AT_ONCE = 2;
/**
 * So that the others have their turn before their commands give up. A hook that stands still has lost its
 * transaction by then.
 */
const LEFT_TO_ITSELF_AFTER_MS = 5_000;
const WRITTEN_WITHIN_MS = 10_000;
const WRITE_AGAIN_MS = 500;

/**
 * The workers' side of what commands leave to them: each is taken by one worker, and by none again, so one
 * whose worker dies stays as begun. What hooks or a stock of the host's own hear of is left alone in a
 * process without them, and so is what a provider of the host's own is asked for that this one has not.
 */
@Injectable()
export class CarryOutErrands {
  readonly #kinds: ErrandKinds;

  constructor(
    @Inject(BACKGROUND) private readonly dataSource: DataSource,
    private readonly hooks: OrderHooks,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
    canceling: CancelOrderByOperator,
    closing: ForceCloseOrders,
    settling: SettleOrder,
    payments: SettlePayment,
    refunds: CreateRefund,
    extending: ExtendWindow,
    private readonly providers: PaymentProviders,
  ) {
    this.#kinds = {
      'orders.cancel': (...args) => canceling.cancel(...args),
      'orders.force-close': (...args) => closing.run(...args),
      'orders.extend': (...args) => extending.extendOnce(...args),
      'orders.settle': (...args) => settling.settle(...args),
      'orders.settle-payment': (...args) => settling.settle(...args),
      'payments.settle': (...args) => payments.settle(...args),
      'payments.correct': (...args) => payments.settle(...args),
      'refunds.create': (...args) => refunds.create(...args),
      'refunds.create-at-provider': (...args) => refunds.create(...args),
    };
  }

  /**
   * All that wait; once it `stops`, those under way are the last. Answers with how many there were. One
   * that takes too long, as a hook that never ends, is left to itself: the others have their turn.
   */
  async runOnce(stops: () => boolean = () => false): Promise<number> {
    let done = 0;
    while (!stops()) {
      const errands = await this.#take();
      await Promise.all(errands.map((errand) => this.#inTime(errand)));
      done += errands.length;
      if (errands.length < AT_ONCE) break;
    }
    return done;
  }

  async #inTime(errand: ErrandRow): Promise<void> {
    const failed = (error: unknown): void => this.telemetry.failed(errand.what, error);
    const carrying = this.#carryOut(errand).catch(failed);
    await withTimeLimit(carrying, LEFT_TO_ITSELF_AFTER_MS, 'No end of it').catch(failed);
  }

  async #take(): Promise<ErrandRow[]> {
    return queryRows<ErrandRow>(
      this.dataSource,
      `UPDATE errands SET begun_at = now() WHERE id = ANY (ARRAY(
         SELECT id FROM errands
          WHERE begun_at IS NULL AND waited_at > now() - $1 * interval '1 millisecond'
            AND what = ANY ($2) AND NOT ${IS_OF_OTHERS}
          ORDER BY asked_at LIMIT $3 FOR UPDATE SKIP LOCKED))
       RETURNING id, what, args`,
      [
        ...[WAITED_FOR_MS, this.hooks.hasAny ? Object.keys(this.#kinds) : WITHOUT_HOOKS, AT_ONCE],
        this.providers.names,
      ],
    );
  }

  async #carryOut({ id, what, args }: ErrandRow): Promise<void> {
    const useCase = this.#kinds[what] as (...args: readonly unknown[]) => Promise<unknown>;
    const answer = await useCase(...args).then(
      (result) => ({ result }),
      (error: unknown) => ({ refusal: this.#refusal(what, error) }),
    );
    await this.#write(id, asJson(answer));
  }

  /** What was done is not known otherwise: so it is tried for a while. */
  async #write(id: string, answer: string): Promise<void> {
    const giveUpAtMs = performance.now() + WRITTEN_WITHIN_MS;
    for (;;) {
      try {
        await inTransaction(this.dataSource, (tx) =>
          tx.rows('UPDATE errands SET answer = $2 WHERE id = $1', [id, answer]),
        );
        return;
      } catch (error) {
        if (!isInfrastructureError(error) || performance.now() > giveUpAtMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, WRITE_AGAIN_MS));
      }
    }
  }

  #refusal(what: ErrandName, error: unknown): Refusal {
    if (!(error instanceof LastcallError)) this.telemetry.failed(what, error);
    const { code, message, fields } = refusalOf(error);
    return { code, message, fields };
  }
}

/** What a hook has thrown may hold anything: facts that JSON cannot say are left out. */
function asJson(answer: Answer<unknown>): string {
  const sayable = (_name: string, value: unknown): unknown =>
    typeof value === 'bigint' ? String(value) : value;
  try {
    return JSON.stringify(answer, sayable);
  } catch (error) {
    if (!answer.refusal) throw error;
    return JSON.stringify({ refusal: { ...answer.refusal, fields: {} } });
  }
}
