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
  startingOrder,
} from '../program';
import type { EndpointAction } from './endpoint-action';
import type { StartingEndpoint } from './endpoints';

const ENDPOINTS = 2;
const HOURS_MS = 3_600_000;

const at = (...names: EndpointAction[]): fc.Arbitrary<Action> =>
  fc.record({ process, do: one(...names), endpoint: fc.nat(ENDPOINTS - 1) });
const work = fc.record({
  process,
  do: one('fan out', 'fan out', 'deliver', 'deliver', 'deliver'),
});
/** Leases end, pauses end, webhooks are given up; never so much that all is over at once. */
const wait: fc.Arbitrary<Action> = fc.record({
  process,
  do: fc.constant('advance' as const),
  ms: fc.constantFrom(5_500, 61_000, 7 * HOURS_MS, 80 * HOURS_MS, 80 * HOURS_MS),
});

const startingEndpoint: fc.Arbitrary<StartingEndpoint> = fc.record({
  wants: one('all', 'all', 'some'),
  mood: one('works', 'works', 'refuses'),
});

const anything = (orders: number): fc.Arbitrary<Action> =>
  fc.oneof(
    { weight: 8, arbitrary: work },
    {
      weight: 3,
      arbitrary: at(
        ...(['endpoint refuses', 'endpoint refuses payments', 'endpoint hangs up'] as const),
        ...(['endpoint half', 'endpoint is gone', 'endpoint works', 'endpoint works'] as const),
        ...(['redeliver', 'redeliver all', 'switch on'] as const),
      ),
    },
    { weight: 4, arbitrary: onOrder(orders) },
    { weight: 1, arbitrary: onMoney(orders) },
    { weight: 3, arbitrary: onShop },
    { weight: 2, arbitrary: wait },
    { weight: 1, arbitrary: advance },
  );

/** Programs of a shop whose own systems hear of events, and fail. */
export const endpointPrograms: fc.Arbitrary<Program> = one(1, 1, 2).chain((orders) =>
  fc.record({
    endpoints: fc.array(startingEndpoint, { minLength: 1, maxLength: ENDPOINTS }),
    lock: one('off', 'on'),
    answers: fc.constant('heard' as const),
    earlyIds: fc.boolean(),
    orders: fc.array(startingOrder, { minLength: orders, maxLength: orders }),
    // Two workers are at it in each, and something has happened.
    actions: fc
      .tuple(
        fc.array(anything(orders), { minLength: 3, maxLength: 7 }),
        fc.record({ process, do: fc.constant('fan out' as const) }),
        fc.array(fc.record({ process, do: fc.constant('deliver' as const) }), {
          minLength: 2,
          maxLength: 2,
        }),
      )
      .map(([others, fanOut, delivering]) => [fanOut, ...delivering, ...others]),
    schedule: fc.array(fc.nat(5), { minLength: 60, maxLength: 120, size: 'max' }),
  }),
);
