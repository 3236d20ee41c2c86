import * as fc from 'fast-check';

/** Orders of one kind among the crowd. */
export interface Party {
  readonly count: number;
  readonly closesInMs: number;
  /** Of these, a payment is open at the provider. */
  readonly isPaying: boolean;
}

/** What an actor does in a crowd; `nth` names an order, or the first of some. */
export type CrowdAction = { readonly process: number } & (
  | { readonly do: 'ring' | 'look' | 'sweep' | 'relay' | 'crash' | 'lose locks' }
  | { readonly do: 'lose alarms' | 'alarms away' | 'alarms back' }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'pay some' | 'cancel' | 'read'; readonly nth: number }
  | { readonly do: 'hold'; readonly what: 'product' | 'order'; readonly nth: number }
);

export interface CrowdProgram {
  readonly lock: 'on' | 'off';
  /** True: transactions have their ids as they begin, so that ids and commits differ in order. */
  readonly earlyIds: boolean;
  readonly parties: readonly Party[];
  readonly actions: readonly CrowdAction[];
  readonly schedule: readonly number[];
}

/** Two at work, and a third that comes and goes. */
export const CROWD_PROCESSES = 3;
const CROWD = 200;

const process = fc.nat(CROWD_PROCESSES - 1);
const nth = fc.nat(CROWD - 1);
const one = <Name extends string>(...names: Name[]) => fc.constantFrom(...names);

const action: fc.Arbitrary<CrowdAction> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ process, do: one('ring', 'ring', 'ring', 'look', 'sweep', 'relay') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      process,
      do: fc.constant('advance' as const),
      ms: fc.constantFrom(100, 500, 1_000, 3_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ process, do: one('pay some', 'cancel', 'read'), nth }) },
  {
    weight: 2,
    arbitrary: fc.record({
      process,
      do: fc.constant('hold' as const),
      what: one('product', 'order', 'order'),
      nth,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      process,
      do: one('lose alarms', 'alarms away', 'alarms back', 'crash', 'lose locks'),
    }),
  },
);

/** {@link CROWD} orders in all: some are overdue, some come due, a few are being paid. */
const parties: fc.Arbitrary<Party[]> = fc
  .tuple(
    fc.constantFrom(-1, 0, 200),
    fc.constantFrom(200, 900, 1_000),
    fc.constantFrom(-1, 1_000, 2_500),
  )
  .map(([first, second, paying]) => [
    { count: CROWD / 2, closesInMs: first, isPaying: false },
    { count: CROWD / 2 - 10, closesInMs: second, isPaying: false },
    { count: 10, closesInMs: paying, isPaying: true },
  ]);

export const crowdPrograms: fc.Arbitrary<CrowdProgram> = fc.record({
  lock: one('off', 'on'),
  earlyIds: fc.boolean(),
  parties,
  actions: fc.array(action, { minLength: 3, maxLength: 9 }),
  schedule: fc.array(fc.nat(7), { minLength: 80, maxLength: 160, size: 'max' }),
});

export function describeCrowdAction(action: CrowdAction): string {
  const { process: _, do: what, ...details } = action;
  return [what, ...Object.values(details)].join(' ');
}

export function describeCrowd({ lock, earlyIds, parties, actions }: CrowdProgram): string {
  return [
    `lock ${lock}${earlyIds ? ', transactions have their ids as they begin' : ''}`,
    ...parties.map(
      ({ count, closesInMs, isPaying }) =>
        `${count} orders close in ${closesInMs} ms${isPaying ? ', a payment is open' : ''}`,
    ),
    ...actions.map(
      (action, index) =>
        `actor ${index} in process ${action.process}: ${describeCrowdAction(action)}`,
    ),
  ].join('\n');
}
