import * as fc from 'fast-check';
import { advance, describeIds, one, process } from '../program';
import { PROVIDERS } from '../stage';
import type { TargetAction, TargetOrderAction } from './target-action';

export interface TargetStartingOrder {
  /** `paid twice`: one of the two goes back, and that is still to be sent. `closed`: on somebody's behalf; its payment may be to be ended still. */
  readonly payment: 'open' | 'two open' | 'paid' | 'paid twice' | 'closed' | 'none';
  /** At which provider; the second payment of two is at the other one. */
  readonly provider: number;
  /** Until its deadline, when the program begins. */
  readonly closesInMs: number;
}

/** Orders in a table of a shop's own, and what happens to them. */
export interface TargetProgram {
  /** `lost`: the provider does what it is asked to, and nobody hears of it for a while. */
  readonly answers: 'heard' | 'lost';
  readonly latePayment: 'refund' | 'hold';
  /** Of rows that somebody has: waited for until they are free, or given up before anybody moves. */
  readonly locks: 'waited for' | 'given up';
  /** `written`: the shop knows its payments by the ids that their providers have for them, too. */
  readonly ids: 'written' | 'unwritten';
  readonly earlyIds: boolean;
  readonly orders: readonly TargetStartingOrder[];
  readonly actions: readonly TargetAction[];
  readonly schedule: readonly number[];
}

type ShopAction = Exclude<TargetAction, { readonly order: number } | { readonly ms: number }>['do'];

const on = (orders: number, ...names: TargetOrderAction[]): fc.Arbitrary<TargetAction> =>
  fc.record({ process, do: one(...names), order: fc.nat(orders - 1) });
const shop = (...names: ShopAction[]) => fc.record({ process, do: one(...names) });
const ring = shop('ring', 'ring', 'sweep');
/** As a backoff is over. */
const soon: fc.Arbitrary<TargetAction> = fc.record({
  process,
  do: fc.constant('advance' as const),
  ms: fc.constant(10_000),
});

type Payment = TargetStartingOrder['payment'];

/** What has to come together for some of what can go wrong. */
interface Theme {
  /** Of the first order. */
  readonly of: readonly Payment[];
  readonly actions: readonly fc.Arbitrary<TargetAction>[];
}

const UNPAID: readonly Payment[] = ['open', 'two open', 'closed'];
const TWICE: readonly Payment[] = ['paid twice'];
const [late, first] = ['pay late', 'pay'] as const;
const [decides, settles] = [
  on(1, 'refund held', 'keep held', 'settle webhook'),
  on(1, 'settle refund', 'retry refund'),
];
const THEMES: readonly Theme[] = [
  // A payment is told of while its order is closed, or one slips in.
  { of: UNPAID, actions: [ring, on(1, first, late, 'close'), ring] },
  { of: ['two open'], actions: [on(1, first), on(1, late), ring, ring] },
  {
    of: ['open', 'none', 'closed'],
    actions: [ring, on(1, 'open payment', 'open payment unasked'), on(1, first, 'close')],
  },
  // What its provider has not ended is ended by a person, while it is.
  { of: UNPAID, actions: [shop('silence'), ring, on(1, 'settle order'), on(1, first, late)] },
  // The same money is told of twice, by webhook and by an answer.
  { of: UNPAID, actions: [on(1, first), on(1, 'notice again'), ring, ring] },
  // Its provider does what it is asked to, nobody hears of it, and it is asked again.
  { of: TWICE, actions: [shop('lose answers'), ring, soon, shop('ring'), ring] },
  // A refund is sent by two, told of, settled by hand, refused, and comes back.
  { of: TWICE, actions: [ring, ring, settles, on(1, 'tell of refund', 'refund bounces')] },
  { of: TWICE, actions: [shop('refuse refunds'), ring, settles, settles] },
  { of: TWICE, actions: [ring, on(1, 'refund bounces'), settles, on(1, 'tell of refund')] },
  // Somebody decides about money, and somebody else does.
  { of: UNPAID, actions: [on(1, 'move on'), on(1, first, 'pay wrongly'), ring, decides, decides] },
];

const anything = (orders: number): fc.Arbitrary<TargetAction> =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: on(
        orders,
        ...(['pay', 'pay', 'pay late', 'pay wrongly', 'notice again', 'late fail'] as const),
        ...(['refund by hand', 'dispute', 'tell of refund', 'refund bounces'] as const),
        ...(['close', 'close', 'open payment', 'open payment unasked', 'move on'] as const),
      ),
    },
    {
      weight: 3,
      arbitrary: on(
        orders,
        ...(['settle order', 'settle refund', 'retry refund'] as const),
        ...(['refund held', 'keep held', 'settle webhook'] as const),
      ),
    },
    { weight: 4, arbitrary: ring },
    {
      weight: 2,
      arbitrary: shop('crash', 'crash', 'silence', 'lose answers', 'answer', 'refuse refunds'),
    },
    { weight: 1, arbitrary: advance },
  );

const startingOrder: fc.Arbitrary<TargetStartingOrder> = fc.record({
  payment: one('open', 'open', 'two open', 'paid', 'paid twice', 'closed', 'none'),
  provider: fc.nat(PROVIDERS.length - 1),
  closesInMs: fc.constantFrom(-1, -1, -1, 0, 60_000),
});

const startsAs = (of: readonly Payment[]): fc.Arbitrary<TargetStartingOrder> =>
  startingOrder.chain((order) => one(...of).map((payment) => ({ ...order, payment })));

/** A theme's order and actions, and some others beside them. */
const themed = fc.constantFrom(...THEMES).chain(({ of, actions }) =>
  fc.record({
    orders: fc.tuple(startsAs(of)),
    actions: fc
      .tuple(fc.tuple(...actions), fc.array(anything(1), { maxLength: 3 }))
      .map(([theme, others]): TargetAction[] => [...theme, ...others]),
  }),
);
const random = one(1, 1, 2).chain((orders) =>
  fc.record({
    orders: fc.array(startingOrder, { minLength: orders, maxLength: orders }),
    actions: fc.array(anything(orders), { minLength: 2, maxLength: 6 }),
  }),
);

const surroundings = fc.record({
  answers: one('heard', 'heard', 'heard', 'lost'),
  latePayment: one('refund', 'refund', 'hold'),
  locks: one('waited for', 'given up'),
  ids: one('written', 'unwritten'),
  earlyIds: fc.boolean(),
  schedule: fc.array(fc.nat(5), { minLength: 60, maxLength: 120, size: 'max' }),
});

export const targetPrograms: fc.Arbitrary<TargetProgram> = fc
  .tuple(fc.oneof({ weight: 3, arbitrary: themed }, { weight: 1, arbitrary: random }), surroundings)
  .map(([what, around]) => ({ ...around, ...what }));

export function describeTargets(program: TargetProgram): string {
  const { answers, latePayment, locks, ids } = program;
  return [
    `the provider's answers ${answers}, late money: ${latePayment}, locks ${locks}, ids at providers ${ids}${describeIds(program)}`,
    ...program.orders.map(
      ({ payment, provider, closesInMs }, index) =>
        `order ${index}: payment ${payment} at ${PROVIDERS[provider]}, closes in ${closesInMs} ms`,
    ),
    ...program.actions.map(
      (action, index) =>
        `actor ${index} in process ${action.process}: ${describeTargetAction(action)}`,
    ),
  ].join('\n');
}

export function describeTargetAction({ do: what, ...given }: TargetAction): string {
  if ('order' in given) return `${what} of order ${given.order}`;
  return 'ms' in given ? `${what} ${given.ms} ms` : what;
}
