import {
  enterHost,
  findMarked,
  hasMethods,
  isMade,
  isSingleton,
  leaveHost,
  onceBack,
  type Transaction,
  unlessItStandsStill,
  type Uuids,
} from '@app/timeout';
import { Inject, Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { LastcallError } from './errors';
import { heard, ofStock } from './heard-of-host';
import type { HookTx } from './hook-tx';
import { type HooksOrders, isOrderHook, type OrderDraft, type OrderTransition } from './order-hook';
import { stockEffect } from './order.lifecycle';
import { readReturned } from './returned-lines';
import { NO_STOCK_PORT, STOCK_PORT, type StockLine, type StockPort } from './stock-port';
import { ORDERS_TELEMETRY, type OrdersTelemetry } from './telemetry';

/** Injection token: asks which search path a connection of the host's own has. */
export const HOST_SEARCH_PATH = Symbol('HostSearchPath');

/**
 * Injection token: true in a command beside a host that has hooks or a stock of its own, which only the
 * host's processes can call.
 */
export const HOOKS_ELSEWHERE = Symbol('HooksElsewhere');

/**
 * So long a hook or a stock of the host's waits for one lock in a transaction that many share: about
 * what a transaction of somebody else takes that is under way, and little for those beside it.
 */
const SHARED_LOCK_LIMIT_MS = 20;

/** The host's hooks and its stock, and the way to call them. */
@Injectable()
export class OrderHooks implements OnModuleInit {
  #hooks: readonly HooksOrders[] = [];
  #path = '';

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(HOST_SEARCH_PATH) private readonly hostPath: () => Promise<string>,
    @Inject(STOCK_PORT) private readonly stock: StockPort,
    @Inject(ORDERS_TELEMETRY) private readonly telemetry: OrdersTelemetry,
    @Inject(HOOKS_ELSEWHERE) private readonly areElsewhere: boolean,
  ) {}

  /** True where changes of this process are heard by hooks, or by a stock, of the host's own. */
  get hasAny(): boolean {
    return this.#hooks.length > 0 || this.stock !== NO_STOCK_PORT;
  }

  /** True where somebody has to hear which orders change; in a command {@link run} refuses the change. */
  get hearOfOrders(): boolean {
    return this.hasAny || this.areElsewhere;
  }

  /**
   * @throws {Error} for a hook that is no singleton: orders change outside of any request; and for one that two
   *   modules make each for itself: it would hear of each change twice, in one transaction
   * @throws {TypeError} for a hook with neither method, as where one is misspelt
   */
  async onModuleInit(): Promise<void> {
    const marked = findMarked(this.discovery, isOrderHook);
    const [scoped] = marked.find(([, wrapper]) => !isSingleton(wrapper)) ?? [];
    if (scoped) {
      throw new Error(
        `The order hook ${scoped.name} is transient or request-scoped, or depends on something that is: ` +
          'orders change outside of any request. Make it and what it depends on singletons.',
      );
    }
    const [first, second] = providedTwice(marked) ?? [];
    if (first && second) {
      throw new Error(
        `The order hook ${first.name} is provided twice, in ${first.host?.name} and ${second.host?.name}: ` +
          'it would hear of each change twice. Provide it in one module, and export it to others that need it.',
      );
    }
    marked.forEach(assertHears);
    this.#hooks = marked.map(([, { instance }]) => instance as HooksOrders).filter(isMade);
    // Our connections were open: a Postgres that restarts just now comes back.
    if (this.hasAny) this.#path = await onceBack(() => this.hostPath(), { wasThere: true });
  }

  /**
   * Asks hooks, then the host's stock, about orders that are about to be placed; answers with refusals.
   * @throws {LastcallError} hooks_elsewhere, as the other two: in a command no order changes unheard
   */
  async beforePlace(
    tx: Transaction,
    drafts: readonly OrderDraft[],
  ): Promise<ReadonlyMap<string, LastcallError>> {
    const refused = new Map<string, LastcallError>();
    if (!this.#areToHear(drafts.length)) return refused;
    const left = (): readonly OrderDraft[] => drafts.filter(({ orderId }) => !refused.has(orderId));
    await this.#enterHost(tx, async (hookTx) => {
      for (const hook of this.#hooks) {
        const asked = left();
        if (!hook.beforePlace || asked.length === 0) continue;
        for (const { orderId, message, fields } of await hook.beforePlace(asked, hookTx)) {
          assertAsked(asked, orderId);
          refused.set(orderId, new LastcallError('order_refused', message, fields));
        }
      }
      const lines = left().flatMap(linesOf);
      if (lines.length === 0) return;
      const short = await ofStock(tx, () => this.stock.reserve(lines, hookTx));
      for (const { orderId, sku, available } of short) {
        assertAsked(drafts, orderId);
        refused.set(orderId, outOfStock(sku, available));
      }
    });
    return refused;
  }

  /** Has the host's stock reserve a closed order's lines again, which is about to be paid: false if it is short. */
  async reserveAgain(tx: Transaction, lines: readonly StockLine[]): Promise<boolean> {
    if (!this.#areToHear(lines.length) || this.stock === NO_STOCK_PORT) return true;
    return this.#enterHost(
      tx,
      async (hookTx) => (await ofStock(tx, () => this.stock.reserve(lines, hookTx))).length === 0,
    );
  }

  /**
   * Tells the host's stock of pieces that came back of an order.
   * @throws {LastcallError} restock_not_supported where it could not hear of them
   */
  async takeBack(tx: Transaction, lines: readonly StockLine[]): Promise<void> {
    if (!this.#areToHear(lines.length) || this.stock === NO_STOCK_PORT) return;
    if (!this.stock.takeBack) throw restockNotSupported();
    await this.#enterHost(tx, (hookTx) =>
      ofStock(tx, async () => this.stock.takeBack?.(lines, hookTx)),
    );
  }

  /** Which orders they are is asked only where somebody has to hear of them. */
  async run(
    tx: Transaction,
    told: Omit<OrderTransition, 'orderIds'>,
    changed: { readonly count: number; readonly orderIds: Uuids },
  ): Promise<void> {
    if (!this.#areToHear(changed.count)) return;
    const change = { ...told, orderIds: changed.orderIds.each };
    const { from, to, orderIds } = change;
    const effect = from === 'none' ? 'none' : (stockEffect(from, to) ?? 'none');
    const takenBack =
      effect === 'restock' && this.stock.takeBack ? await readReturned(tx, orderIds) : [];
    await this.#enterHost(tx, async (hookTx) => {
      if (effect !== 'none') {
        await ofStock(tx, () => this.stock.apply(effect, orderIds, hookTx, takenBack));
      }
      for (const hook of this.#hooks) await hook.onTransition?.(change, hookTx);
    });
  }

  #areToHear(count: number): boolean {
    if (count === 0) return false;
    if (this.areElsewhere) throw hooksElsewhere();
    return this.hasAny;
  }

  async #enterHost<T>(tx: Transaction, work: (hookTx: HookTx) => Promise<T>): Promise<T> {
    const limit = tx.isShared ? `${SHARED_LOCK_LIMIT_MS}ms` : undefined;
    const before = await enterHost(tx, this.#path, limit);
    tx.lend();
    const hookTx: HookTx = {
      manager: tx.manager,
      query: (sql, params = []) => tx.rowsOfHost(sql, params),
      afterCommit: (hook) =>
        tx.afterCommit(hook, (error) =>
          this.telemetry.failed('afterCommit of an @OrderHook() or the stock', error),
        ),
    };
    const result = await unlessItStandsStill(tx, 'An @OrderHook() or the stock of the host', () =>
      heard(tx, false, work(hookTx)),
    );
    // Hears of a statement that failed and was passed over, too: nothing could be committed after it.
    await leaveHost(tx, before);
    return result;
  }
}

type Marked = ReturnType<typeof findMarked>[number];

/**
 * Two of one class that are found by one token. By tokens of their own there may be several, as of one class with other
 * options; and a token that is no hook itself, such as a text, may be another hook's in another module.
 */
function providedTwice(marked: readonly Marked[]): [Marked[1], Marked[1]] | undefined {
  const made = marked.filter(([, { instance }]) => isMade(instance));
  for (const [at, [type, wrapper]] of made.entries()) {
    const { token } = wrapper;
    const isHook = typeof token === 'function' && isOrderHook(token as Type);
    const twin = made
      .slice(at + 1)
      .find(([other, { token: by }]) => by === token && (isHook || other === type));
    if (twin) return [wrapper, twin[1]];
  }
  return undefined;
}

/** What a test has in the place of a hook may have no method: it is there to hear of nothing. */
function assertHears([type, { instance }]: Marked): void {
  if (!(instance instanceof type)) return;
  if (['onTransition', 'beforePlace'].some((name) => hasMethods(instance, [name]))) return;
  throw new TypeError(
    `The order hook ${type.name} would hear of nothing: it must have a method ` +
      '`onTransition(change, tx)` or `beforePlace(drafts, tx)`',
  );
}

const linesOf = ({ orderId, items }: OrderDraft): StockLine[] =>
  items.map(({ sku, quantity }) => ({ orderId, sku, quantity }));

function assertAsked(drafts: readonly OrderDraft[], orderId: string): void {
  if (drafts.some((draft) => draft.orderId === orderId)) return;
  throw new TypeError(`Order ${orderId} was refused, and is none of those that were asked about`);
}

const hooksElsewhere = (): LastcallError =>
  new LastcallError(
    'hooks_elsewhere',
    "The host's hooks, or its own stock, have to hear of this change, and only its processes have them",
  );

const restockNotSupported = (): LastcallError =>
  new LastcallError(
    'restock_not_supported',
    "The host's own stock cannot hear of pieces that come back (its StockPort has no takeBack): refund " +
      'without restock, and put them back there by hand',
  );

/** The same answer wherever stock is counted. */
export const outOfStock = (sku: string, available: number): LastcallError =>
  new LastcallError('out_of_stock', `Only ${available} of "${sku}" can be had now`, {
    sku,
    available,
  });
