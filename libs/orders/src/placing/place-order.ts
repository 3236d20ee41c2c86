import { hash } from 'node:crypto';
import {
  failpoint,
  inTransaction,
  isEverybodys,
  isLockTimeout,
  isTableLocked,
  type Transaction,
} from '@app/timeout';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { DATABASE } from '../data-source';
import { type Settings, SETTINGS } from '../config';
import { LastcallError } from '../order/errors';
import { GroupCommit } from '../group-commit';
import { HeldElsewhere, type HowToCarryOut } from '../group-commit-options';
import { waitNoMore } from '../order/wait-no-more';
import type { OrderView } from '../order/order';
import { OrderGuard } from '../order/order-guard';
import { HeldInHostError } from '../order/heard-of-host';
import { readInput } from '../order/read-input';
import { needsOfCustomer } from './customer-limits';
import { placeCommand } from './place-rules';
import { placeGroup, type PlaceOutcome } from './place-group';
import { PlacingTurns } from './placing-turns';
import { sumBySku, waitInTurn } from '../stock/products';
import { keyOf, type PlaceRequest } from './write-orders';

export interface PlaceCommand {
  readonly customerId: string;
  readonly idempotencyKey: string;
  readonly items: readonly { readonly sku: string; readonly quantity: number }[];
  /** What the customer was shown, in minor units; undefined takes any price. */
  readonly expectedTotal?: number | undefined;
}

const MAX_GROUP = 200;
/** Two commits overlap; more would only want the same products. */
const LANES = 2;
/** More than a group takes, unless the disk is slow. */
const NEXT_LANE_AFTER_MS = 20;
/** About two seconds of placing at full speed: beyond it a clear 503 is kinder than a long wait. */
const MAX_WAITING = 10_000;

/** Places orders, in groups: prices, stock, history and deadline in one commit for all of them. */
@Injectable()
export class PlaceOrder implements OnApplicationShutdown {
  readonly #turns = new PlacingTurns();
  /** What groups have failed by that had waited for a turn in vain: that time is none of their parts'. */
  readonly #failedBehindVain = new WeakSet<object>();
  readonly #groups: GroupCommit<PlaceRequest, PlaceOutcome>;

  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    private readonly guard: OrderGuard,
    @Inject(SETTINGS) private readonly config: Settings,
  ) {
    this.#groups = new GroupCommit<PlaceRequest, PlaceOutcome>(
      (requests, how) => this.#placeGroup(requests, how),
      {
        maxGroup: MAX_GROUP,
        lanes: LANES,
        nextLaneAfterMs: NEXT_LANE_AFTER_MS,
        maxWaiting: MAX_WAITING,
        overflow: () =>
          new LastcallError('busy', 'Too many orders are being placed; try again soon'),
        keyOf,
        needsOf: ({ items, customerId }) => [
          ...items.map(({ sku }) => sku),
          ...needsOfCustomer(customerId, this.config),
        ],
        canWaitFor: (need) => !need.startsWith(NO_SKU),
        tired: inUse,
        tookTooLong: (cause) =>
          new LastcallError(
            'busy',
            'Another order failed for too long beside this one; try again',
            {},
            { cause },
          ),
        isEverybodys,
        isForAllWaiting: isTableLocked,
        isHeld: (error) => isLockTimeout(error) || this.#failedBehindVain.has(error as object),
      },
    );
  }

  /**
   * Places an order, or answers with the one that this key has placed before.
   * What is passed is checked as HTTP checks it, whatever type it has at run time.
   * @throws {LastcallError} invalid_request, idempotency_key_reused, unknown_sku, mixed_currencies, total_changed,
   *   out_of_stock, too_many_open_orders, busy; nothing has been written then.
   */
  async place(command: PlaceCommand): Promise<{ order: OrderView; replayed: boolean }> {
    const { customerId, idempotencyKey, expectedTotal, ...given } = read(command);
    const items = mergeLines(given.items);
    const asked = expectedTotal === undefined ? items : { items, expectedTotal };
    const outcome = await this.#groups.submit({
      customerId,
      idempotencyKey,
      bodyHash: hash('sha256', JSON.stringify(asked), 'base64'),
      items,
      expectedTotal,
    });
    if ('refused' in outcome) throw outcome.refused;
    return outcome;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#groups.drained();
  }

  async #placeGroup(
    requests: readonly PlaceRequest[],
    { haveWaited, waitsFor, turn, sinceMs }: HowToCarryOut,
  ): Promise<readonly (PlaceOutcome | HeldElsewhere)[]> {
    let isTurnInVain = false;
    try {
      const outcomes = await inTransaction(
        this.dataSource,
        async (tx) => {
          const taken = turn === 'none' ? turn : await this.#turns.take(tx, turn);
          isTurnInVain = taken === 'in_vain';
          const isInVain = waitsFor !== undefined && !(await waitInTurn(tx, waitsFor));
          const place = () => placeGroup(tx, requests, this.guard, this.config);
          const isTired = haveWaited || isInVain || isTurnInVain;
          const outcomes = isTired ? await patientNoMore(tx, place) : await place();
          await failpoint('place.written');
          return taken === 'alone' ? outcomes.map(asKept) : outcomes;
        },
        { isShared: true, sinceMs },
      );
      await failpoint('place.committed');
      return outcomes;
    } catch (error) {
      if (isTurnInVain) this.#failedBehindVain.add(error as object);
      const [request, other] = requests;
      if (!(error instanceof HeldInHostError) || !request || other) throw error;
      return [new HeldElsewhere(heldInHost(request, error), true)];
    }
  }
}

/** All groups of others stand aside: what is held all the same, is had by somebody who places no orders. */
function asKept<T>(outcome: T | HeldElsewhere): T | HeldElsewhere {
  if (!(outcome instanceof HeldElsewhere)) return outcome;
  return new HeldElsewhere(outcome.needs, outcome.failsGroups, true);
}

/**
 * Of a group that has waited for somebody's lock.
 * @throws {LastcallError} busy: it is one of these that needs it
 */
async function patientNoMore<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  await waitNoMore(tx);
  try {
    return await work();
  } catch (error) {
    throw isLockTimeout(error) ? inUse([]) : error;
  }
}

/** @throws {LastcallError} invalid_request, with fields named as HTTP names them */
function read({ customerId, idempotencyKey, items, expectedTotal }: PlaceCommand): PlaceCommand {
  const given = { customerId, 'Idempotency-Key': idempotencyKey, items, expectedTotal };
  const { 'Idempotency-Key': key, ...command } = readInput(placeCommand, given);
  return { ...command, idempotencyKey: key };
}

/** A stock's locks are of its products; of a hook's nobody knows: those are this request's own matter. */
function heldInHost(request: PlaceRequest, { isOfStock }: HeldInHostError): string[] {
  return isOfStock ? request.items.map(({ sku }) => sku) : [`${NO_SKU}${keyOf(request)}`];
}

/** No SKU begins like this, as customers' needs do (customer-limits.ts). */
const NO_SKU = '\u0000';

/** One line a SKU, in SKU order: two ways to write the same order are the same order. */
function mergeLines(items: PlaceCommand['items']): { sku: string; quantity: number }[] {
  return [...sumBySku(items)]
    .map(([sku, quantity]) => ({ sku, quantity }))
    .sort((a, b) => (a.sku < b.sku ? -1 : 1));
}

function inUse(needs: readonly string[]): LastcallError {
  const skus = needs.filter((need) => !need.startsWith(NO_SKU));
  const what = skus.length > 0 ? skus.map((sku) => `"${sku}"`).join(', ') : 'what this order needs';
  return new LastcallError('busy', `Somebody is changing ${what} at this moment; try again soon`, {
    skus,
  });
}
