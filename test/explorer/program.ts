import * as fc from 'fast-check';

/** What an actor does, to one of the program's orders where that matters. */
export type Action = { readonly process: number } & (
  | { readonly do: 'place'; readonly key: number; readonly quantity: number }
  | { readonly do: 'advance'; readonly ms: number }
  | {
      readonly do: 'crash' | 'lose locks' | 'lose redis' | 'ring' | 'sweep' | 'relay' | 'fold';
    }
  | {
      readonly do:
        | 'pay'
        | 'pay late'
        | 'pay wrongly'
        | 'notice again'
        | 'late fail'
        | 'start payment'
        | 'read'
        | 'cancel'
        | 'force-close'
        | 'extend'
        | 'ship'
        | 'receive';
      readonly order: number;
    }
);

export interface StartingOrder {
  readonly payment: 'open' | 'two open' | 'failed' | 'none';
  readonly latePayment: 'refund' | 'revive' | 'hold';
  /** Until `closesAt`, when the program begins. */
  readonly closesInMs: number;
}

export interface Program {
  readonly lock: 'on' | 'off';
  /** `lost`: the provider does what it is asked to, and nobody hears of it for a while. */
  readonly answers: 'heard' | 'lost';
  readonly orders: readonly StartingOrder[];
  readonly actions: readonly Action[];
  /** At each step: which of those that could go on does; 0 is the one that went last. */
  readonly schedule: readonly number[];
}

/** Few processes: what meets inside one, and what meets between two. */
export const PROCESSES = 2;

const process = fc.nat(PROCESSES - 1);
const one = <Name extends string>(...names: Name[]) => fc.constantFrom(...names);

const onOrder = (orders: number) =>
  fc.record({
    process,
    do: one(
      ...(['pay', 'pay', 'pay', 'pay late', 'pay late', 'pay wrongly', 'notice again'] as const),
      ...(['late fail', 'start payment', 'read', 'read', 'cancel', 'cancel'] as const),
      ...(['force-close', 'extend', 'ship', 'receive'] as const),
    ),
    order: fc.nat(orders - 1),
  });
const onShop = fc.record({
  process,
  do: one(
    ...(['ring', 'ring', 'ring', 'sweep', 'sweep', 'relay', 'fold'] as const),
    ...(['crash', 'crash', 'lose locks', 'lose redis'] as const),
  ),
});
const place = fc.record({
  process,
  do: fc.constant('place' as const),
  key: fc.nat(1),
  quantity: fc.integer({ min: 1, max: 3 }),
});
const advance = fc.record({
  process,
  do: fc.constant('advance' as const),
  ms: fc.constantFrom(1, 1_000, 60_000, 31 * 86_400_000),
});

const startingOrder: fc.Arbitrary<StartingOrder> = fc.record({
  payment: one('open', 'two open', 'failed', 'none'),
  latePayment: one('refund', 'revive', 'hold'),
  closesInMs: fc.constantFrom(-1, -1, 0, 1, 60_000),
});

export const programs: fc.Arbitrary<Program> = fc.integer({ min: 1, max: 2 }).chain((orders) =>
  fc.record({
    lock: one('off', 'on'),
    answers: one('heard', 'heard', 'heard', 'lost'),
    orders: fc.array(startingOrder, { minLength: orders, maxLength: orders }),
    actions: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: onOrder(orders) },
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

export function describeProgram(program: Program): string {
  return [
    `lock ${program.lock}, the provider's answers ${program.answers}`,
    ...program.orders.map(
      ({ payment, latePayment, closesInMs }, index) =>
        `order ${index}: payment ${payment}, late money: ${latePayment}, closes in ${closesInMs} ms`,
    ),
    ...program.actions.map(
      (action, index) => `actor ${index} in process ${action.process}: ${describeAction(action)}`,
    ),
  ].join('\n');
}
