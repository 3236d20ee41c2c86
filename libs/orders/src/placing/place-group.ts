import type { Transaction } from '@app/timeout';
import { uuidv7 } from '../order/uuid';
import type { Settings } from '../config';
import { HeldElsewhere } from '../group-commit-options';
import { LastcallError } from '../order/errors';
import type { OrderView } from '../order/order';
import type { OrderGuard } from '../order/order-guard';
import { outOfStock } from '../order/order-hooks';
import { readOrders } from '../order/order-rows';
import {
  foldWhereShort,
  type LockedProduct,
  lockProducts,
  sumBySku,
  shortOf,
  takeAll,
} from '../stock/products';
import { CustomerLimits, needsOfCustomer } from './customer-limits';
import {
  type Draft,
  keyOf,
  type Placing,
  type PlaceRequest,
  viewOf,
  writeOrders,
} from './write-orders';

export type PlaceOutcome =
  { readonly order: OrderView; readonly replayed: boolean } | { readonly refused: LastcallError };

type Decision =
  Draft | { readonly refused: LastcallError } | { readonly existing: string } | HeldElsewhere;

/**
 * Places a group of orders in the given transaction: each wholly or not at all, one refused
 * beside its placed neighbours. One outcome for each request, in their order; for one that wants a
 * product whose row somebody else has locked, or whose customer another group has, that is the answer:
 * neither is waited for.
 */
export async function placeGroup(
  tx: Transaction,
  requests: readonly PlaceRequest[],
  guard: OrderGuard,
  config: Settings,
): Promise<(PlaceOutcome | HeldElsewhere)[]> {
  const limits = await CustomerLimits.read(tx, requests, config);
  const existing = await findKeys(tx, requests);
  const wanted = sumBySku(requests.flatMap(({ items }) => items));
  const { products, heldElsewhere } = await lockProducts(tx, [...wanted.keys()]);
  await foldWhereShort(tx, products, wanted);
  const decisions = requests.map((request): Decision => {
    const known = existing.get(keyOf(request));
    if (known) {
      if (known.bodyHash === request.bodyHash) return { existing: known.orderId };
      return { refused: keyReused() };
    }
    if (limits.isHeldElsewhere(request.customerId)) {
      return new HeldElsewhere(needsOfCustomer(request.customerId, config));
    }
    const held = request.items.map(({ sku }) => sku).filter((sku) => heldElsewhere.has(sku));
    if (held.length > 0) return new HeldElsewhere(held);
    return decide(request, products, limits);
  });
  await askHost(tx, decisions, guard);
  const drafts = decisions.filter((decision): decision is Draft => 'id' in decision);
  const placing = drafts.length > 0 ? await writeOrders(tx, drafts, config) : undefined;
  if (placing) {
    await limits.write(tx, drafts);
    await enter(tx, drafts, placing, guard);
  }
  return assemble(tx, decisions, placing);
}

/**
 * Hooks and stock of the host's own may refuse what we would place. What a refused one has taken of a
 * product its neighbours were not offered: they are told what was true when they were looked at.
 */
async function askHost(tx: Transaction, decisions: Decision[], guard: OrderGuard): Promise<void> {
  const drafts = decisions.filter((decision): decision is Draft => 'id' in decision);
  const refusals = await guard.beforePlace(
    tx,
    drafts.map(({ id, request, items, amount, currency }) => {
      return { orderId: id, customerId: request.customerId, items, amount, currency };
    }),
  );
  if (refusals.size === 0) return;
  decisions.forEach((decision, index) => {
    const refused = 'id' in decision ? refusals.get(decision.id) : undefined;
    if (refused) decisions[index] = { refused };
  });
}

/** The orders' way into their lifecycle; with nothing to pay, they are paid at once. */
async function enter(
  tx: Transaction,
  drafts: readonly Draft[],
  { at, closesAt }: Placing,
  guard: OrderGuard,
): Promise<void> {
  const deadline = { kind: 'payment', dueAt: closesAt };
  await guard.placed(
    tx,
    drafts.map(({ id }) => ({ orderId: id, version: 1, closesAt, changedAt: at, deadline })),
  );
  await guard.change(tx, {
    from: 'pending_payment',
    to: 'paid',
    orderIds: drafts.filter(isFree).map(({ id }) => id),
    by: 'system',
    reason: 'nothing_to_pay',
  });
}

const isFree = ({ amount }: { amount: number }): boolean => amount === 0;

function decide(
  request: PlaceRequest,
  products: ReadonlyMap<string, LockedProduct>,
  limits: CustomerLimits,
): Decision {
  const unknown = request.items.find(({ sku }) => !products.has(sku));
  if (unknown) return { refused: unknownSku(unknown.sku) };
  const items = request.items.map(({ sku, quantity }) => {
    const { unitPrice } = products.get(sku) as LockedProduct;
    return { sku, quantity, unitPrice };
  });
  const currencies = new Set(items.map(({ sku }) => (products.get(sku) as LockedProduct).currency));
  if (currencies.size > 1) return { refused: mixedCurrencies([...currencies]) };
  const amount = items.reduce((sum, { quantity, unitPrice }) => sum + quantity * unitPrice, 0);
  const currency = [...currencies][0] as string;
  if (amount !== (request.expectedTotal ?? amount)) {
    return { refused: totalChanged(request.expectedTotal as number, amount, currency) };
  }
  const availableOf = (sku: string) => (products.get(sku) as LockedProduct).available;
  // Before the limits: nobody may have more of it than there is.
  const missing = shortOf(products, items);
  if (missing !== undefined) return { refused: outOfStock(missing, availableOf(missing)) };
  const refused = limits.refusalOf(request, availableOf);
  if (refused) return { refused };
  takeAll(products, items);
  limits.add(request);
  return { id: uuidv7(), request, items, amount, currency };
}

async function findKeys(
  tx: Transaction,
  requests: readonly PlaceRequest[],
): Promise<Map<string, { orderId: string; bodyHash: string }>> {
  const rows = await tx.hot<{
    customer_id: string;
    key: string;
    order_id: string;
    body_hash: string;
  }>(FIND_KEYS, [requests.map((r) => r.customerId), requests.map((r) => r.idempotencyKey)]);
  return new Map(
    rows.map((row) => [
      keyOf({ customerId: row.customer_id, idempotencyKey: row.key }),
      { orderId: row.order_id, bodyHash: row.body_hash },
    ]),
  );
}

/** Each by itself: joined, and planned while there were few, all keys there are would be read. */
export const FIND_KEYS = `
  SELECT k.* FROM unnest($1::text[], $2::text[]) AS r (customer_id, key), LATERAL (
    SELECT customer_id, key, order_id, body_hash FROM idempotency_keys
     WHERE customer_id = r.customer_id AND key = r.key OFFSET 0) AS k`;

/** Only what was not written just now, as it stands here, is read. */
async function assemble(
  tx: Transaction,
  decisions: readonly Decision[],
  placing: Placing | undefined,
): Promise<(PlaceOutcome | HeldElsewhere)[]> {
  const views = await readOrders(
    tx,
    decisions.flatMap((decision) => {
      if ('existing' in decision) return [decision.existing];
      return 'id' in decision && isFree(decision) ? [decision.id] : [];
    }),
  );
  return decisions.map((decision) => {
    if ('refused' in decision || decision instanceof HeldElsewhere) return decision;
    const order = views.get('id' in decision ? decision.id : decision.existing);
    if (order) return { order, replayed: 'existing' in decision };
    if (!('id' in decision)) throw new Error('The order of an idempotency key cannot be read');
    return { order: viewOf(decision, placing as Placing), replayed: false };
  });
}

const keyReused = (): LastcallError =>
  new LastcallError(
    'idempotency_key_reused',
    'This Idempotency-Key has placed a different order; use a new key for a new order',
  );

const unknownSku = (sku: string): LastcallError =>
  new LastcallError('unknown_sku', `There is no product "${sku}"; GET /v1/products lists them`, {
    sku,
  });

const mixedCurrencies = (currencies: readonly string[]): LastcallError =>
  new LastcallError(
    'mixed_currencies',
    `One order has one currency, and these items have ${currencies.join(' and ')}; place two orders`,
    { currencies },
  );

const totalChanged = (expectedTotal: number, total: number, currency: string): LastcallError =>
  new LastcallError(
    'total_changed',
    `These items cost ${total} now, and not ${expectedTotal}; show the customer, then order again`,
    { total, currency, expectedTotal },
  );
