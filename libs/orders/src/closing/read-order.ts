import { TimeoutService } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { CloseOrder } from './close-order';
import { LastcallError, orderNotFound } from '../order/errors';
import type { OrderView } from '../order/order';
import { orderIdOf } from '../order/given-id';
import { OrderGuard } from '../order/order-guard';
import type { Page } from '../order/page';
import { onDataSource, readOrder } from '../order/order-rows';
import { type OrderFilter, searchOrders } from '../order/search-orders';
import { SettleClosing } from './settle-closing';
import { isCustomer, isSubject } from '../order/subject';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from '../order/telemetry';

/** Reads one order; one that is overdue is closed by being looked at, where that can be done. */
@Injectable()
export class ReadOrder {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    private readonly closing: CloseOrder,
    private readonly settling: SettleClosing,
    private readonly timeouts: TimeoutService,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
  ) {}

  /**
   * @param customerId whose order it must be; what is no id, as of nobody who is logged in, has none
   * @throws {LastcallError} order_not_found, also for somebody else's
   */
  read(orderId: string, customerId: string): Promise<OrderView> {
    return this.#read(orderId, (order) => isSubject(customerId) && order.customerId === customerId);
  }

  /**
   * For operators, and for who has asked already whose order it is.
   * @throws {LastcallError} order_not_found
   */
  readOfAnyCustomer(orderId: string): Promise<OrderView> {
    return this.#read(orderId, () => true);
  }

  /** As it is by now; where that cannot be read, as it was: what has been done is not told as failed. */
  readAnew(order: OrderView): Promise<OrderView> {
    return this.readOfAnyCustomer(order.id).catch((error: unknown) => {
      this.telemetry.failed('read what was changed', error);
      return order;
    });
  }

  async #read(given: string, isTheirs: (order: OrderView) => boolean): Promise<OrderView> {
    const orderId = orderIdOf(given);
    const sql = onDataSource(this.dataSource);
    const order = await readOrder(sql, orderId);
    if (!isTheirs(order)) throw orderNotFound();
    if (!isOverdue(order) || (await this.timeouts.brake.stops())) return order;
    await this.#closeIfOverdue(orderId);
    return readOrder(sql, orderId);
  }

  /** Never fails: whoever reads waits for nobody who holds the order, nor for a hook that throws. */
  async #closeIfOverdue(orderId: string): Promise<void> {
    try {
      const outcome = await this.guard.withOrder(
        orderId,
        (order, tx) =>
          this.closing.closeIfPending(order, tx, {
            by: 'passive',
            closeReason: 'payment_timeout',
            onlyIfOverdue: true,
          }),
        { skipsHeld: true },
      );
      if (outcome === 'closing') await this.settling.settleSoon(orderId);
    } catch (error) {
      // The host's processes close it; a command cannot.
      if (error instanceof LastcallError && error.code === 'hooks_elsewhere') return;
      // Its deadline closes it all the same; where the database is away, reading says so itself.
      this.telemetry.failed('passive close', error);
    }
  }
}

/** By the database's clock: `serverNow` was read with the row. */
function isOverdue({ status, closesAt, serverNow }: OrderView): boolean {
  return status === 'pending_payment' && closesAt !== null && closesAt <= serverNow;
}

/** A page of orders, newest first; see searchOrders for pages that end early. */
@Injectable()
export class ListOrders {
  constructor(@Inject(DATABASE) private readonly dataSource: DataSource) {}

  /** Those of any customer where `customerId` is left out; one that is there and is no id, such as undefined, has none. */
  async list(filter: OrderFilter): Promise<Page<OrderView>> {
    if ('customerId' in filter && !isCustomer(filter.customerId))
      return { items: [], nextCursor: null };
    return searchOrders(onDataSource(this.dataSource), filter);
  }
}
