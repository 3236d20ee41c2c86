import { ForeignMoney } from '../../libs/orders/src/money/foreign-money';
import { type PaymentDecision, SettlePayment } from '../../libs/orders/src/ops/held-payments';
import { OrderGuard } from '../../libs/orders/src/order/order-guard';
import type { World } from './world';

/** Settles a payment of a world that is on hold, as an operator does. */
export const settlePayment = (
  world: World,
  paymentId: string,
  decision: PaymentDecision,
  seen?: number,
) =>
  new SettlePayment(
    world.dataSource,
    world.timeouts,
    world.get(OrderGuard),
    world.get(ForeignMoney),
  ).settle(paymentId, decision, { actor: 'olga', reason: 'case 9', seen });
