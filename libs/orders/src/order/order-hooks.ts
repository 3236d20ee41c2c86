import { queryRows, type Transaction } from '@app/timeout';
import {
  applyDecorators,
  Inject,
  Injectable,
  type OnModuleInit,
  SetMetadata,
} from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { DataSource, EntityManager } from 'typeorm';
import { DATABASE } from '../data-source';
import type { By, OrderStatus } from './order.lifecycle';

/** A change of status that orders have just made, in sets. */
export interface OrderTransition {
  /** `none` for orders that have just been placed. */
  readonly from: OrderStatus | 'none';
  readonly to: OrderStatus;
  readonly by: By;
  /** As in the orders' history; null where there is none. */
  readonly reason: string | null;
  readonly orderIds: readonly string[];
}

/** The transaction that decides. Tables are found as on connections of the host's own. */
export interface HookTx {
  readonly manager: EntityManager;
  query<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** Runs after the commit; must not throw. */
  afterCommit(hook: () => void): void;
}

/** What a class marked `@OrderHook()` is. */
export interface HooksOrders {
  /**
   * Called in the transaction that changes these orders: both commit, or neither does. Once for each
   * change that is committed; what throws undoes the change. It bounds its own work by sets.
   */
  onTransition(change: OrderTransition, tx: HookTx): Promise<void>;
}

const MARK = 'lastcall:order-hook';

/** Makes a provider hear of every change of an order's status, in the transaction that makes it. */
export const OrderHook = (): (<T extends abstract new (...args: never[]) => HooksOrders>(
  target: T,
) => void) => applyDecorators(Injectable(), SetMetadata(MARK, true));

/** Injection token: asks which search path a connection of the host's own has. */
export const HOST_SEARCH_PATH = Symbol('HostSearchPath');

/** The host's hooks, and the way to call them. */
@Injectable()
export class OrderHooks implements OnModuleInit {
  #hooks: readonly HooksOrders[] = [];
  #paths = { own: '', host: '' };

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(HOST_SEARCH_PATH) private readonly hostPath: () => Promise<string>,
  ) {}

  /** @throws {Error} for a hook that is request-scoped: orders change outside of any request */
  async onModuleInit(): Promise<void> {
    const marked = this.discovery
      .getProviders()
      .filter(
        ({ metatype }) => typeof metatype === 'function' && Reflect.hasMetadata(MARK, metatype),
      );
    const scoped = marked.find((wrapper) => !wrapper.isDependencyTreeStatic());
    if (scoped) {
      throw new Error(
        `The order hook ${String(scoped.name)} is request-scoped, or depends on something that is: ` +
          'orders change outside of any request. Make it and what it depends on singletons.',
      );
    }
    this.#hooks = marked.map(({ instance }) => instance as HooksOrders);
    if (this.#hooks.length === 0) return;
    const [row] = await queryRows<{ search_path: string }>(this.dataSource, 'SHOW search_path');
    this.#paths = { own: row?.search_path ?? '', host: await this.hostPath() };
  }

  async run(tx: Transaction, change: OrderTransition): Promise<void> {
    if (this.#hooks.length === 0 || change.orderIds.length === 0) return;
    await enter(tx, this.#paths.host);
    const hookTx: HookTx = {
      manager: tx.manager,
      query: (sql, params = []) => tx.rows(sql, params),
      afterCommit: (hook) => tx.afterCommit(hook),
    };
    for (const hook of this.#hooks) await hook.onTransition(change, hookTx);
    // Hears of a statement that failed and was passed over, too: nothing could be committed after it.
    await enter(tx, this.#paths.own);
  }
}

const enter = (tx: Transaction, path: string): Promise<unknown> =>
  tx.rows(`SELECT set_config('search_path', $1, true)`, [path]);
