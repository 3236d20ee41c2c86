import * as fc from 'fast-check';
import type { DeskAction } from './desk/desk-action';
import type { EndpointAction } from './endpoints/endpoint-action';
import type { StartingEndpoint } from './endpoints/endpoints';
import { PROVIDERS } from './stage';

/** What happens to money that an order has: at the provider, at the buyer's bank, by an operator. */
export type MoneyAction =
  | 'refund by hand'
  | 'refund a part by hand'
  | 'dispute'
  | 'win dispute'
  | 'lose dispute'
  | 'refund a part'
  | 'take goods back';

/** What an actor does, to one of the program's orders where that matters. */
export type Action = { readonly process: number } & (
  | { readonly do: 'place'; readonly key: number; readonly quantity: number }
  | { readonly do: 'advance'; readonly ms: number }
  | {
      readonly do: 'crash' | 'lose locks' | 'lose redis' | 'ring' | 'sweep' | 'relay' | 'fold';
    }
  | { readonly do: 'fan out' | 'deliver' }
  | { readonly do: EndpointAction; readonly endpoint: number }
  /** Somebody's transaction has an id, and takes its time. */
  | { readonly do: 'linger' }
  /** From now on the providers send no refund. */
  | { readonly do: 'refuse refunds' }
  | {
      readonly do:
        | 'pay'
        | 'pay late'
        | 'pay wrongly'
        | 'notice again'
        | 'late fail'
        | 'start payment'
        | 'start payment elsewhere'
        | 'read'
        | 'cancel'
        | 'force-close'
        | 'extend'
        | 'ship'
        | 'receive'
        | MoneyAction
        | DeskAction;
      readonly order: number;
    }
);

export interface StartingOrder {
  /** `canceled`: after it was paid, and its refund is still to be sent. `held`: it came late, and waits for an operator. */
  readonly payment: 'open' | 'two open' | 'paid' | 'failed' | 'none' | 'canceled' | 'held';
  /** At which provider; the second payment of two is at the other one. */
  readonly provider: number;
  readonly latePayment: 'refund' | 'revive' | 'hold';
  /** Until `closesAt`, when the program begins. */
  readonly closesInMs: number;
}

export interface Program {
  readonly lock: 'on' | 'off';
  /** `lost`: the provider does what it is asked to, and nobody hears of it for a while. */
  readonly answers: 'heard' | 'lost';
  /** True: transactions have their ids as they begin, so that ids and commits differ in order. */
  readonly earlyIds: boolean;
  /** True: operators see to what waits for them, also once all heals. */
  readonly hasDesk?: boolean;
  /** The shop's own systems that hear of events. */
  readonly endpoints?: readonly StartingEndpoint[];
  readonly orders: readonly StartingOrder[];
  readonly actions: readonly Action[];
  /** At each step: which of those that could go on does; 0 is the one that went last. */
  readonly schedule: readonly number[];
}

/** Few processes: what meets inside one, and what meets between two. */
export const PROCESSES = 2;

export const process = fc.nat(PROCESSES - 1);
export const one = <Name extends string | number>(...names: Name[]) => fc.constantFrom(...names);

export const onOrder = (orders: number) =>
  fc.record({
    process,
    do: one(
      ...(['pay', 'pay', 'pay', 'pay late', 'pay late', 'pay wrongly', 'notice again'] as const),
      ...(['late fail', 'start payment', 'read', 'read', 'cancel', 'cancel'] as const),
      ...(['force-close', 'extend', 'ship', 'receive', 'start payment elsewhere'] as const),
    ),
    order: fc.nat(orders - 1),
  });
export const onMoney = (orders: number) =>
  fc.record({
    process,
    do: one(
      ...(['refund by hand', 'refund a part by hand', 'dispute', 'dispute'] as const),
      ...(['win dispute', 'lose dispute', 'refund a part', 'take goods back', 'cancel'] as const),
    ),
    order: fc.nat(orders - 1),
  });
export const onShop = fc.record({
  process,
  do: one(
    ...(['ring', 'ring', 'ring', 'sweep', 'sweep', 'relay', 'fold'] as const),
    ...(['crash', 'crash', 'lose locks', 'lose redis', 'linger', 'relay'] as const),
  ),
});
const place = fc.record({
  process,
  do: fc.constant('place' as const),
  key: fc.nat(1),
  quantity: fc.integer({ min: 1, max: 3 }),
});
export const advance = fc.record({
  process,
  do: fc.constant('advance' as const),
  ms: fc.constantFrom(1, 1_000, 60_000, 31 * 86_400_000),
});

export const startingOrder: fc.Arbitrary<StartingOrder> = fc.record({
  payment: one('open', 'open', 'two open', 'paid', 'failed', 'none'),
  provider: fc.nat(PROVIDERS.length - 1),
  latePayment: one('refund', 'revive', 'hold'),
  closesInMs: fc.constantFrom(-1, -1, 0, 1, 60_000),
});

export const programs: fc.Arbitrary<Program> = fc.integer({ min: 1, max: 2 }).chain((orders) =>
  fc.record({
    lock: one('off', 'on'),
    answers: one('heard', 'heard', 'heard', 'lost'),
    earlyIds: fc.boolean(),
    orders: fc.array(startingOrder, { minLength: orders, maxLength: orders }),
    actions: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: onOrder(orders) },
        { weight: 2, arbitrary: onMoney(orders) },
        { weight: 4, arbitrary: onShop },
        { weight: 1, arbitrary: place },
        { weight: 1, arbitrary: advance },
      ),
      { minLength: 2, maxLength: 6 },
    ),
    schedule: fc.array(fc.nat(5), { minLength: 60, maxLength: 120, size: 'max' }),
  }),
);

export function describeAction(action: Action): string {
  const { process: _, ...rest } = action;
  const { do: what, ...details } = rest;
  const words = Object.entries(details).map(([name, value]) => `${name} ${value}`);
  return [what, ...words].join(' ');
}

export function describeIds({ earlyIds }: { readonly earlyIds: boolean }): string {
  return earlyIds ? ', transactions have their ids as they begin' : '';
}

export function describeProgram(program: Program): string {
  return [
    `lock ${program.lock}, the provider's answers ${program.answers}${describeIds(program)}`,
    ...(program.endpoints ?? []).map(
      ({ wants, mood }, index) => `endpoint ${index} wants ${wants}, and ${mood}`,
    ),
    ...program.orders.map(
      ({ payment, provider, latePayment, closesInMs }, index) =>
        `order ${index}: payment ${payment} at ${PROVIDERS[provider]}, late money: ${latePayment}, closes in ${closesInMs} ms`,
    ),
    ...program.actions.map(
      (action, index) => `actor ${index} in process ${action.process}: ${describeAction(action)}`,
    ),
  ].join('\n');
}
