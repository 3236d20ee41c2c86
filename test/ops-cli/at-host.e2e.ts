import type { SettleOrder, SettleOrderCommand } from '@app/orders';
import { AtHost } from '../../apps/ops-cli/src/at-host';
import { CarryOutErrands } from '../../libs/orders/src/errands/carry-out-errands';
import type { CancelOrderByOperator } from '../../libs/orders/src/ops/cancel-order-by-operator';
import type { ExtendWindow } from '../../libs/orders/src/closing/extend-window';
import type { CreateRefund } from '../../libs/orders/src/ops/create-refund';
import type { ForceCloseOrders } from '../../libs/orders/src/ops/force-close-orders';
import type { SettlePayment } from '../../libs/orders/src/ops/held-payments';
import type { PaymentProviders } from '../../libs/orders/src/providers/payment-providers';
import type { OrderHooks } from '../../libs/orders/src/order/order-hooks';
import { silentOrdersTelemetry } from '../support/silent-telemetry';
import { until } from '../support/until';
import { openWorld, type World } from '../support/world';

const OLGA = { actor: 'olga', reason: 'case 9' };
/** What a worker carries out that knows of no payment that is named: it takes the newest one that is open. */
const BEFORE = [
  ...['orders.cancel', 'orders.force-close', 'orders.settle', 'payments.settle'],
  'refunds.create',
];

let world: World;
beforeAll(async () => (world = await openWorld()));
afterEach(() => world.rows('DELETE FROM errands'));
afterAll(() => world?.close());

/** What a worker of this version is told to do, once it has come for what the command has left. */
async function toldBy(command: SettleOrderCommand, meanwhile = async () => undefined as unknown) {
  const told: unknown[] = [];
  const settling = { settle: async (...args: unknown[]) => void told.push(args) };
  const worker = new CarryOutErrands(
    world.dataSource,
    { hasAny: true } as OrderHooks,
    silentOrdersTelemetry,
    {} as CancelOrderByOperator,
    {} as ForceCloseOrders,
    settling as unknown as SettleOrder,
    {} as SettlePayment,
    {} as CreateRefund,
    {} as ExtendWindow,
    { names: [] as readonly string[] } as PaymentProviders,
  );
  const asked = new AtHost(world, () => undefined).settleOrder.settle('one', command);
  await until('it is asked for', async () => (await errands()).length === 1);
  const heard = await meanwhile();
  await until('a worker has taken it', async () => (await worker.runOnce()) > 0);
  await asked;
  return { told, heard };
}
const errands = () => world.rows('SELECT what FROM errands');
const forOlderWorkers = () =>
  world.rows('SELECT what FROM errands WHERE what = ANY ($1)', [BEFORE]);

describe('an order that a command leaves to a host to settle', () => {
  it('as paid by a payment that is named is left to no worker that would take another one', async () => {
    const command = { ...OLGA, as: 'paid', paymentId: 'the older one' } as const;
    expect(await toldBy(command, forOlderWorkers)).toEqual({ told: [['one', command]], heard: [] });
  });

  it('without naming one is left to workers of any version', async () => {
    const command = { ...OLGA, as: 'paid' } as const;
    const heard = [{ what: 'orders.settle' }];
    expect(await toldBy(command, forOlderWorkers)).toEqual({ told: [['one', command]], heard });
  });
});

it('leaves money that is corrected to no worker that would keep it as it was recorded', async () => {
  const asked = new AtHost(world, () => undefined).settlePayment.settle('one', 'correct', OLGA);
  const ended = asked.catch((error: unknown) => error);
  await until('it is asked for', async () => (await errands()).length === 1);
  expect(await forOlderWorkers()).toEqual([]);
  await world.rows('DELETE FROM errands');
  expect(await ended).toMatchObject({ state: 'unanswered' });
});
