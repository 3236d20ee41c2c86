import { queryRows } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { readHistory } from '../events/read-history';
import { NamesInLogs } from '../order/names-in-logs';
import type { OrderView } from '../order/order';
import { onDataSource, readOrders } from '../order/order-rows';
import { SESSIONS_OF } from '../sessions/page-sessions';
import { customerNotFound } from './erase-customer';
import { type KeptOfOrder, readKeptOf } from './kept-of-orders';

export interface ExportedOrder extends Omit<OrderView, 'payments'>, KeptOfOrder {
  /** What happened, why, and whether the customer did it; not which employee. */
  readonly history: readonly {
    readonly at: string;
    readonly from: string | null;
    readonly to: string;
    readonly by: string;
    readonly reason: string | null;
  }[];
}

export interface CustomerExport {
  readonly customer: string;
  /** What the customer is called in the logs. */
  readonly nameInLogs: string;
  readonly orders: readonly ExportedOrder[];
  /** Keys that the customer's programs sent with orders, kept for two days. */
  readonly idempotencyKeys: readonly { readonly key: string; readonly createdAt: string }[];
  /** Orders in a row that were not paid, for the limits. */
  readonly unpaidInARow: number;
  /** Pages that were opened by links of the customer's. */
  readonly pageSessions: readonly { readonly page: string; readonly createdAt: string }[];
}

/** Orders that are read by one statement. */
const BATCH = 200;

/** What is kept of a customer, as they may ask for it; docs/privacy.md says what is left out. */
@Injectable()
export class ExportCustomer {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly names: NamesInLogs,
  ) {}

  /** @throws {LastcallError} customer_not_found */
  async export(customer: string): Promise<CustomerExport> {
    const rows = <Row>(sql: string): Promise<Row[]> => queryRows(this.dataSource, sql, [customer]);
    const found = await rows<{ id: string }>(
      'SELECT id FROM orders WHERE customer_id = $1 ORDER BY id',
    );
    if (found.length === 0) throw customerNotFound();
    const orders: ExportedOrder[] = [];
    for (let i = 0; i < found.length; i += BATCH) {
      orders.push(...(await this.#orders(found.slice(i, i + BATCH).map(({ id }) => id))));
    }
    const [streak] = await rows<{ n: number }>(
      'SELECT in_a_row AS n FROM unpaid_streaks WHERE customer_id = $1',
    );
    return {
      customer,
      nameInLogs: await this.names.of(customer),
      orders,
      idempotencyKeys: await rows(
        `SELECT key, created_at AS "createdAt" FROM idempotency_keys WHERE customer_id = $1
          ORDER BY created_at`,
      ),
      unpaidInARow: streak?.n ?? 0,
      pageSessions: await rows(
        `SELECT page, created_at AS "createdAt" FROM page_sessions WHERE ${SESSIONS_OF}
          ORDER BY created_at`,
      ),
    };
  }

  async #orders(ids: readonly string[]): Promise<ExportedOrder[]> {
    const sql = onDataSource(this.dataSource);
    const views = [...(await readOrders(sql, ids)).values()];
    const history = await readHistory(sql, ids);
    const keptOf = await readKeptOf(sql, views);
    return views.map((order) => ({
      ...order,
      ...keptOf(order),
      history: history
        .filter(({ orderId }) => orderId === order.id)
        .map(({ at, from, to, by, reason }) => ({ at, from, to, by, reason })),
    }));
  }
}
