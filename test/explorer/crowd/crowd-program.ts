import * as fc from 'fast-check';
import { describeIds } from '../program';

/** Orders of one kind among the crowd. */
export interface Party {
  readonly count: number;
  readonly closesInMs: number;
  /** Of these, a payment is open at the provider, or has been paid before the program begins. */
  readonly payments: 'none' | 'open' | 'paid';
}

/** What an actor does in a crowd; `nth` names an order, or the first of some. */
export type CrowdAction = { readonly process: number } & (
  | { readonly do: 'ring' | 'look' | 'sweep' | 'relay' | 'fold' | 'lose locks' }
  | { readonly do: 'lose alarms' | 'alarms away' | 'alarms back' }
  /** An operator's sweep by parts, and a worker that looks for one. */
  | { readonly do: 'sweep in shards' }
  /** Once in a program: a handler fails for all its subjects, until it is rolled back. */
  | { readonly do: 'release a bug' }
  /** `after` so many steps at which it might have come: what begins with the program has begun by then. */
  | { readonly do: 'take part' | 'crash' | 'roll back'; readonly after?: number }
  /** The brake: somebody sets the database's clock an hour ahead; an operator has seen it. */
  | { readonly do: 'jump' | 'confirm' }
  /** The pace: the API's customers feel the drains, or no longer. */
  | { readonly do: 'others wait' | 'others are served' | 'linger' }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'pay some' | 'cancel' | 'read'; readonly nth: number }
  | { readonly do: 'refund by hand' | 'dispute'; readonly nth: number }
  /** What was sold comes back into stock: all of an order, or a piece of it. */
  | { readonly do: 'cancel paid' | 'take goods back'; readonly nth: number }
  | { readonly do: 'hold'; readonly what: 'product' | 'order'; readonly nth: number }
);

export interface CrowdProgram {
  readonly lock: 'on' | 'off';
  readonly earlyIds: boolean;
  /** For so long nobody has rung as the program begins. */
  readonly outageMs: number;
  readonly batchTakesMs: number;
  readonly parties: readonly Party[];
  readonly actions: readonly CrowdAction[];
  readonly schedule: readonly number[];
}

/** Two at work, and a third that comes and goes. */
export const CROWD_PROCESSES = 3;
const CROWD = 200;

const process = fc.nat(CROWD_PROCESSES - 1);
const nth = fc.nat(CROWD - 1);
const BACK = ['cancel paid', 'take goods back'] as const;
const one = <Name extends string | number>(...names: Name[]) => fc.constantFrom(...names);

const hold = (...what: ('product' | 'order')[]): fc.Arbitrary<CrowdAction> =>
  fc.record({ process, do: fc.constant('hold' as const), what: one(...what), nth });
const SHARDS = ['sweep in shards', 'take part'] as const;
const BUG = ['release a bug', 'roll back'] as const;
type Simple =
  | ('ring' | 'fold' | 'cancel' | 'alarms away' | 'others wait' | 'release a bug')
  | 'sweep in shards'
  | (typeof BACK)[number];
const simply = (...names: Simple[]) =>
  fc.record({ process, do: one(...names), nth }) as fc.Arbitrary<CrowdAction>;

const later = (what: 'take part' | 'crash' | 'roll back', by: fc.Arbitrary<number> = process) =>
  fc.record({ process: by, do: fc.constant(what), after: one(5, 10, 20) });
const by = (index: number, act: fc.Arbitrary<CrowdAction>): fc.Arbitrary<CrowdAction> =>
  act.map((done) => ({ ...done, process: index }));

const action: fc.Arbitrary<CrowdAction> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      process,
      do: one('ring', 'ring', 'ring', 'look', 'sweep', 'relay', 'fold'),
    }),
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
    weight: 1,
    arbitrary: fc.record({ process, do: one('refund by hand', 'dispute', ...BACK), nth }),
  },
  { weight: 2, arbitrary: hold('product', 'order', 'order') },
  {
    weight: 3,
    arbitrary: fc.record({
      process,
      do: one('lose alarms', 'alarms away', 'alarms back', 'crash', 'lose locks'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ process, do: one(...SHARDS, ...BUG) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      process,
      do: one('jump', 'jump', 'confirm', 'others wait', 'others are served', 'linger'),
    }),
  },
);

/** What has to come together for some of what can go wrong, among others that come between. */
const themes: readonly (readonly fc.Arbitrary<CrowdAction>[])[] = [
  // Somebody has what a batch wants, so that it is put back.
  [hold('order'), simply('ring'), simply('ring')],
  // And that as the store takes no alarm.
  [hold('order'), hold('order'), simply('ring'), simply('ring'), simply('alarms away')],
  // Two fold the same while neither gets on.
  [hold('product'), simply('cancel'), simply('fold'), simply('fold'), simply('fold')],
  // What was sold comes back while it is folded, and while the same order's goods are taken back.
  [simply(...BACK), simply(...BACK), simply(...BACK), simply(...BACK), simply('fold')],
  // Two at one backlog's shards, one of them until it dies.
  [
    by(0, simply('sweep in shards')),
    ...[later('take part', fc.constant(1)), later('take part', fc.constant(1))],
    later('crash', fc.nat(1)),
  ],
  // A bug, found while there is work, and gone some time later.
  [simply('release a bug'), simply('ring'), simply('ring'), later('roll back')],
  // A backlog that gives way.
  [simply('others wait'), simply('ring'), simply('ring')],
];

const actions = fc.oneof(
  { weight: 1, arbitrary: fc.array(action, { minLength: 3, maxLength: 9 }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...themes)
      .chain((theme) => fc.tuple(fc.tuple(...theme), fc.array(action, { maxLength: 3 })))
      .map(([theme, others]) => [...theme, ...others]),
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
    { count: CROWD / 2, closesInMs: first, payments: 'none' },
    { count: CROWD / 2 - 14, closesInMs: second, payments: 'none' },
    { count: 10, closesInMs: paying, payments: 'open' },
    { count: 4, closesInMs: 60_000, payments: 'paid' },
  ]);

export const crowdPrograms: fc.Arbitrary<CrowdProgram> = fc.record({
  lock: one('off', 'on'),
  earlyIds: fc.boolean(),
  // What is four seconds late may give way.
  outageMs: fc.constantFrom(0, 3_000, 5_000, 5_000),
  batchTakesMs: fc.constantFrom(100, 300),
  parties,
  actions,
  schedule: fc.array(fc.nat(7), { minLength: 80, maxLength: 160, size: 'max' }),
});

export function describeCrowdAction(action: CrowdAction): string {
  const { process: _, do: what, ...details } = action;
  return [what, ...Object.values(details)].join(' ');
}

export function describeCrowd(program: CrowdProgram): string {
  const { lock, outageMs, batchTakesMs, parties, actions } = program;
  return [
    `lock ${lock}, nobody rang for ${outageMs} ms, batches take ${batchTakesMs} ms${describeIds(program)}`,
    ...parties.map(
      ({ count, closesInMs, payments }) =>
        `${count} orders close in ${closesInMs} ms, payments: ${payments}`,
    ),
    ...actions.map(
      (action, index) =>
        `actor ${index} in process ${action.process}: ${describeCrowdAction(action)}`,
    ),
  ].join('\n');
}
