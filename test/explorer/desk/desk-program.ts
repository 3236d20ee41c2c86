import * as fc from 'fast-check';
import {
  type Action,
  advance,
  onMoney,
  onOrder,
  onShop,
  one,
  process,
  type Program,
  type StartingOrder,
  startingOrder,
} from '../program';
import type { DeskAction } from './desk-action';

const atDesk = (orders: number, ...names: DeskAction[]): fc.Arbitrary<Action> =>
  fc.record({ process, do: one(...names), order: fc.nat(orders - 1) });
const refused = fc.record({ process, do: fc.constant('refuse refunds' as const) });
const rung = fc.record({ process, do: fc.constant('ring' as const) });
/** What has to come together for some of what can go wrong, among others that come between. */
const themes = (orders: number): readonly (readonly fc.Arbitrary<Action>[])[] => [
  // A refund is settled while it is on its way, and told of.
  [rung, atDesk(orders, 'settle refund'), atDesk(orders, 'settle refund')],
  [rung, atDesk(orders, 'settle refund'), atDesk(orders, 'tell of refund', 'reconcile')],
  // One that was refused is retried, and settled at once.
  [refused, rung, atDesk(orders, 'settle refund'), atDesk(orders, 'retry refund')],
  // One that was made comes back, as it is settled, compared, or told of.
  [
    ...[rung, atDesk(orders, 'refund bounces')],
    atDesk(orders, 'settle refund', 'reconcile', 'tell of refund'),
  ],
  // Two operators decide about money on hold.
  [
    atDesk(orders, 'refund held', 'keep held', 'accept held'),
    atDesk(orders, 'refund held', 'keep held', 'accept held'),
  ],
];

const anything = (orders: number): fc.Arbitrary<Action> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: atDesk(
        orders,
        ...([
          'settle refund',
          'settle refund',
          'retry refund',
          'refund held',
          'keep held',
        ] as const),
        ...(['accept held', 'settle order', 'operator cancels', 'reconcile', 'reconcile'] as const),
        ...(['tell of refund', 'refund bounces'] as const),
      ),
    },
    { weight: 3, arbitrary: onOrder(orders) },
    { weight: 3, arbitrary: onMoney(orders) },
    { weight: 3, arbitrary: onShop },
    { weight: 1, arbitrary: refused },
    { weight: 1, arbitrary: advance },
  );

/** Programs at which operators are at work, beside all who are in the others. */
export const deskPrograms: fc.Arbitrary<Program> = one(1, 1, 2).chain((orders) =>
  fc.record({
    hasDesk: fc.constant(true),
    lock: one('off', 'on'),
    answers: one('heard', 'heard', 'lost'),
    earlyIds: fc.boolean(),
    orders: fc.array(
      startingOrder.chain((order) =>
        one(...(['canceled', 'canceled', 'held', 'paid'] as const), order.payment).map(
          (payment): StartingOrder => ({
            ...order,
            ...{ payment, latePayment: payment === 'held' ? 'hold' : order.latePayment },
          }),
        ),
      ),
      { minLength: orders, maxLength: orders },
    ),
    actions: fc.oneof(
      { weight: 1, arbitrary: fc.array(anything(orders), { minLength: 2, maxLength: 7 }) },
      {
        weight: 3,
        arbitrary: fc
          .constantFrom(...themes(orders))
          .chain((theme) =>
            fc.tuple(fc.tuple(...theme), fc.array(anything(orders), { maxLength: 2 })),
          )
          .map(([theme, others]) => [...theme, ...others]),
      },
    ),
    schedule: fc.array(fc.nat(5), { minLength: 60, maxLength: 120, size: 'max' }),
  }),
);
