import type { ExtendWindow } from '../../libs/orders/src/closing/extend-window';
import { CarryOutErrands } from '../../libs/orders/src/errands/carry-out-errands';
import type { CancelOrderByOperator } from '../../libs/orders/src/ops/cancel-order-by-operator';
import type { CreateRefund } from '../../libs/orders/src/ops/create-refund';
import type { CloseRun, ForceCloseOrders } from '../../libs/orders/src/ops/force-close-orders';
import type { SettlePayment } from '../../libs/orders/src/ops/held-payments';
import type { SettleOrder } from '../../libs/orders/src/ops/settle-order';
import type { OrderHooks } from '../../libs/orders/src/order/order-hooks';
import type { PaymentProviders } from '../../libs/orders/src/providers/payment-providers';
import { silentOrdersTelemetry } from './silent-telemetry';
import { until } from './until';
import type { World } from './world';

export type Close = (orderIds: readonly string[], run: CloseRun) => Promise<unknown[]>;

/** What a worker has; use cases that are not named fail. */
interface ErrandWorker {
  readonly close?: Close;
  /** Hooks of the host; unless given there are some. */
  readonly hasHooks?: boolean;
  readonly extendOnce?: (...args: unknown[]) => Promise<unknown>;
  readonly create?: (orderId: string) => Promise<unknown>;
  /** The names of its providers. */
  readonly providers?: readonly string[];
}

const called = (): Promise<never> => Promise.reject(new Error('called'));

/** A worker of a host, with use cases of the test's. */
export const errandWorker = (
  world: World,
  {
    close = called,
    hasHooks = true,
    extendOnce = called,
    create = called,
    providers = [],
  }: ErrandWorker,
): CarryOutErrands =>
  new CarryOutErrands(
    world.dataSource,
    { hasAny: hasHooks } as OrderHooks,
    silentOrdersTelemetry,
    {} as CancelOrderByOperator,
    { run: close } as unknown as ForceCloseOrders,
    {} as SettleOrder,
    {} as SettlePayment,
    { create } as unknown as CreateRefund,
    { extendOnce } as unknown as ExtendWindow,
    { names: providers } as PaymentProviders,
  );

/** Resolves once so many errands are asked for. */
export const untilAsked = (world: World, count: number): Promise<unknown> =>
  until(
    'they are asked for',
    async () => (await world.rows('SELECT 1 FROM errands')).length === count,
  );

/** A worker that leaves them all alone is found within the time that a planted bug has. */
const TAKEN_BY_MS = 10_000;
/** A turn of its worker that finds one: the command may be about to say that it waits, and has its row then. */
export const turnOf = (worker: CarryOutErrands): Promise<unknown> =>
  until('a worker has taken it', async () => (await worker.runOnce()) > 0, TAKEN_BY_MS);
