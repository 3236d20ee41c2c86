import { hash } from 'node:crypto';
import { TimeoutService, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { type Settings, SETTINGS } from '../config';
import { LastcallError, orderNotFound } from '../order/errors';
import { EVENT_AT, EVENT_TX } from '../order/event-tx';
import type { OrderView } from '../order/order';
import { type GuardedOrder, OrderGuard } from '../order/order-guard';
import { readOrder } from '../order/order-rows';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';
import { ExtendPayments } from './extend-payments';
import { ReadOrder } from './read-order';

export interface ExtendCommand {
  readonly by: 'customer' | 'operator';
  readonly actor: string;
  readonly byMs: number;
  /** Required of operators. */
  readonly reason?: string | undefined;
  /** Runs the real transaction and rolls it back. */
  readonly dryRun?: boolean;
  /** The same key stands for the same extension, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
}

/** An order that has more time to be paid. */
export interface Extended {
  readonly order: OrderView;
  /** True when this key had extended it before. */
  readonly replayed: boolean;
}

/** The most that anybody may add at once. Customers may add less: CUSTOMER_EXTENSION. */
export const MAX_EXTENSION_MS = 24 * 3_600_000;

/**
 * Moves the payment deadline of an unpaid order, and then the ends of its payments at providers. The
 * new deadline is a row of its own with a new version; the old one fires once, finds the order not
 * overdue and is gone.
 */
@Injectable()
export class ExtendWindow {
  constructor(
    private readonly guard: OrderGuard,
    private readonly timeouts: TimeoutService,
    private readonly reading: ReadOrder,
    private readonly payments: ExtendPayments,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
    @Inject(SETTINGS) private readonly config: Settings,
  ) {}

  /** As {@link extendOnce}, for who does not ask whether it was done before. */
  async extend(orderId: string, command: ExtendCommand): Promise<OrderView> {
    return (await this.extendOnce(orderId, command)).order;
  }

  /** False where the ends of its open payments cannot be moved from here: a worker extends it then. */
  canExtendHere(orderId: string): Promise<boolean> {
    return this.payments.canAskFor(orderId);
  }

  /**
   * Extends, or answers with the order as it is where this key has extended it before, whatever has become
   * of the order since.
   * @throws {LastcallError} invalid_request, order_not_found, order_not_extendable, idempotency_key_reused, busy
   */
  async extendOnce(orderId: string, command: ExtendCommand): Promise<Extended> {
    assertExtension(command.byMs);
    const extended = await this.guard.withOrder(
      orderId,
      async (order, tx) => {
        if (command.by === 'customer' && order.customerId !== command.actor) throw orderNotFound();
        if (await isKnown(tx, orderId, command)) {
          return { order: await readOrder(tx, order.id), replayed: true };
        }
        this.#check(order, command);
        const [row] = await tx.rows<{ version: number; closes_at: Date }>(EXTEND, [
          orderId,
          command.byMs,
          command.by,
          command.actor,
          command.reason ?? 'extended',
        ]);
        if (!row) throw notExtendable(order.status);
        await this.timeouts.arm(tx, [
          { kind: 'payment', subjectId: order.id, dueAt: row.closes_at, version: row.version },
        ]);
        await rememberKey(tx, orderId, command);
        return { order: await readOrder(tx, order.id), replayed: false };
      },
      { dryRun: command.dryRun ?? false },
    );
    const { replayed } = extended;
    if (command.dryRun) return { order: await this.reading.readOfAnyCustomer(orderId), replayed };
    await this.#extendPayments(orderId);
    return { order: await this.reading.readAnew(extended.order), replayed };
  }

  /** The order has its time by now, whatever becomes of what is open at providers. */
  async #extendPayments(orderId: string): Promise<void> {
    try {
      for (const left of await this.payments.extendFor(orderId)) {
        this.telemetry.alert('payment_not_extended', { orderId, ...left });
      }
    } catch (error) {
      this.telemetry.failed('extend payments', error);
    }
  }

  #check(order: GuardedOrder, { by, byMs }: ExtendCommand): void {
    if (by === 'operator') return;
    const limitMs = this.config.CUSTOMER_EXTENSION;
    if (limitMs === null) {
      throw new LastcallError('order_not_extendable', 'This shop does not extend payment windows');
    }
    const most = this.config.CUSTOMER_EXTENSIONS;
    if (order.extensions >= most) {
      const message = `This order has been extended ${most === 1 ? 'once' : `${most} times`} already`;
      throw new LastcallError('order_not_extendable', message);
    }
    if (byMs > limitMs) {
      throw new LastcallError(
        'order_not_extendable',
        `The payment window can be extended by at most ${limitMs / 1_000} seconds`,
        { maxSeconds: limitMs / 1_000 },
      );
    }
  }
}

/**
 * Whether this key has extended the order before.
 * @throws {LastcallError} idempotency_key_reused for another extension than this one
 */
async function isKnown(tx: Transaction, orderId: string, command: ExtendCommand): Promise<boolean> {
  if (command.idempotencyKey === undefined) return false;
  const [known] = await tx.rows<{ body_hash: string }>(
    'SELECT body_hash FROM extension_keys WHERE order_id = $1 AND key = $2',
    [orderId, command.idempotencyKey],
  );
  if (known && known.body_hash !== hashOf(command)) {
    const message =
      'This Idempotency-Key has asked for another extension; use a new key for a new one';
    throw new LastcallError('idempotency_key_reused', message);
  }
  return known !== undefined;
}

async function rememberKey(
  tx: Transaction,
  orderId: string,
  command: ExtendCommand,
): Promise<void> {
  if (command.idempotencyKey === undefined) return;
  await tx.rows('INSERT INTO extension_keys (order_id, key, body_hash) VALUES ($1, $2, $3)', [
    orderId,
    command.idempotencyKey,
    hashOf(command),
  ]);
}

/** Not of the reason: who asks again may find better words. */
const hashOf = ({ by, byMs }: ExtendCommand): string =>
  hash('sha256', JSON.stringify([by, byMs]), 'base64');

const EXTEND = `
  WITH changed AS (
    UPDATE orders SET pay_by = pay_by + $2 * interval '1 millisecond',
           closes_at = closes_at + $2 * interval '1 millisecond',
           version = version + 1, extended = extended OR $3 = 'customer',
           extensions = greatest(extensions, extended::int) + ($3 = 'customer')::int,
           event_tx = ${EVENT_TX}
     WHERE id = $1 AND status = 'pending_payment' AND closes_at > now()
    RETURNING id, version, closes_at, event_tx
  ), history AS (
    INSERT INTO order_events
           (order_id, version, type, from_status, to_status, by, actor, reason, tx, at)
    SELECT id, version, 'order.extended', 'pending_payment', 'pending_payment', $3, $4, $5, event_tx,
           ${EVENT_AT}
      FROM changed
  )
  SELECT version, closes_at FROM changed`;

/** Less than nothing would bring the deadline forward, behind the customer's back. */
function assertExtension(byMs: number): void {
  if (Number.isInteger(byMs) && byMs > 0 && byMs <= MAX_EXTENSION_MS) return;
  const maxSeconds = MAX_EXTENSION_MS / 1_000;
  const message = `An order can be extended by 1 to ${maxSeconds} seconds at once`;
  throw new LastcallError('invalid_request', message, { maxSeconds });
}

function notExtendable(status: string): LastcallError {
  return new LastcallError(
    'order_not_extendable',
    status === 'pending_payment'
      ? 'The deadline of this order has passed'
      : `This order is ${status}; only an unpaid order can be extended`,
    { status },
  );
}
