import { type InvariantResult, runInvariants } from '@app/orders';
import type { Client } from './client';
import type { Acknowledged } from './load';
import { SWEEP_MS, type Rig } from './rig';

/** What one drain may take on a machine that others use as well. */
const DRAIN_MS = 3_000;

interface LedgerRefund {
  readonly id: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
  /** Null for one that was made in the dashboard. */
  readonly idempotencyKey: string | null;
}

interface LedgerPayment {
  readonly id: string;
  readonly reference: string;
  readonly capturedAmount: number;
  readonly disputes?: readonly {
    readonly amount: number;
    readonly status: 'open' | 'won' | 'lost';
  }[];
  readonly paidAt: string | null;
}

interface Ours {
  id: string;
  provider_payment_id: string | null;
  payment_status: string;
  captured: string;
  order_id: string;
  order_status: string;
  hold_reason: string | null;
  refunded: string;
  disputed: string;
}

/** The invariants that are violated at this moment, in words; none is the only good answer. */
export async function violations(rig: Rig): Promise<string[]> {
  const results = await runInvariants(rig, { limitMs: SWEEP_MS + DRAIN_MS, newest: 'all' });
  return results.filter(isViolated).map(({ id, name, violations: n }) => `${id} ${name}: ${n}`);
}

const isViolated = ({ violations: n, incomplete }: InvariantResult): boolean =>
  n > 0 || incomplete === true;

/** What is still on its way: orders open, refunds, webhooks and stock under way. */
export async function unsettled(rig: Rig, client: Client): Promise<number> {
  const [row] = await rig.rows<{ n: string }>(
    `SELECT (SELECT count(*) FROM orders WHERE status IN ('pending_payment', 'closing'))
          + (SELECT count(*) FROM refunds WHERE status IN ('requested', 'pending', 'failed'))
          + (SELECT count(*) FROM webhook_events WHERE status = 'received')
          + (SELECT count(*) FROM unfolded_stock_movements) AS n`,
  );
  const { body } = await client.sandbox('GET /health');
  return Number(row?.n) + Number(body.undeliveredWebhooks ?? 1);
}

/** Everything that was acknowledged and is not so, and every cent the two books differ by. */
export async function losses(
  rig: Rig,
  client: Client,
  { placed, canceled, captured }: Acknowledged,
): Promise<string[]> {
  const lost: string[] = [];
  const orders = await rig.rows<{ id: string; status: string; amount: string; key: string }>(
    `SELECT o.id, o.status, o.amount, k.key FROM orders o
       LEFT JOIN idempotency_keys k ON k.order_id = o.id`,
  );
  const byId = new Map(orders.map((order) => [order.id, order]));
  for (const [id, { key, amount }] of placed) {
    const order = byId.get(id);
    if (!order) lost.push(`order ${id} was acknowledged and is not there`);
    else if (order.key !== key || Number(order.amount) !== amount) lost.push(`order ${id} differs`);
  }
  for (const id of canceled) {
    const status = byId.get(id)?.status ?? 'gone';
    // A payment that was under way when the customer canceled has won.
    if (!['closed', 'paid', 'shipped'].includes(status)) lost.push(`canceled ${id} is ${status}`);
  }
  const { taken, refunds } = await readLedger(client);
  const known = new Set(taken.map(({ id }) => id));
  for (const id of captured) if (!known.has(id)) lost.push(`the provider forgot payment ${id}`);
  return [...lost, ...(await compareMoney(rig, taken, refunds))];
}

/** All that was compared, added up on both sides. */
export async function moneyCompared(rig: Rig, client: Client): Promise<string> {
  const { taken, refunds } = await readLedger(client);
  const theirs = [
    taken.reduce((total, { capturedAmount }) => total + capturedAmount, 0),
    sum(succeeded(refunds)),
    sum(taken.flatMap(({ disputes }) => undecidedOrLost(disputes))),
  ];
  const [ours] = await rig.rows<{ sums: string[] }>(
    `SELECT ARRAY[coalesce(sum(captured), 0), coalesce(sum(refunded), 0), coalesce(sum(disputed), 0)]
            ::text[] AS sums FROM payment_balances`,
  );
  const [a, b] = [theirs, ours?.sums ?? []].map((sums) =>
    sums.map((minor) => (Number(minor) / 100).toFixed(2)).join(' / '),
  );
  return `EUR taken / given back / disputed: ${a} at the provider, ${b} in our balances`;
}

async function readLedger(
  client: Client,
): Promise<{ taken: LedgerPayment[]; refunds: LedgerRefund[] }> {
  const { body } = await client.sandbox('GET /v1/ledger');
  const ledger = body as unknown as { payments: LedgerPayment[]; refunds: LedgerRefund[] };
  const taken = ledger.payments.filter(({ paidAt }) => paidAt !== null);
  return { taken, refunds: ledger.refunds };
}

const succeeded = (refunds: readonly LedgerRefund[]): LedgerRefund[] =>
  refunds.filter(({ status }) => status === 'succeeded');
const undecidedOrLost = (disputes: LedgerPayment['disputes'] = []) =>
  disputes.filter(({ status }) => status !== 'won');

async function compareMoney(
  rig: Rig,
  taken: readonly LedgerPayment[],
  refunds: readonly LedgerRefund[],
): Promise<string[]> {
  const rows = await rig.rows<Ours>(
    `SELECT p.id, p.provider_payment_id, p.status AS payment_status, p.order_id,
            o.status AS order_status, p.hold_reason,
            coalesce(b.captured, 0) AS captured, coalesce(b.refunded, 0) AS refunded,
            coalesce(b.disputed, 0) AS disputed
       FROM payments p JOIN orders o ON o.id = p.order_id
       LEFT JOIN payment_balances b ON b.payment_id = p.id`,
  );
  const ours = new Map(rows.map((row) => [row.id, row]));
  const theirs = new Map(taken.map((payment) => [payment.reference, payment]));
  const given = succeeded(refunds);
  const wrong: string[] = [];
  for (const payment of taken) {
    const row = ours.get(payment.reference);
    const back = sum(given.filter(({ paymentId }) => paymentId === payment.id));
    const disputed = sum(undecidedOrLost(payment.disputes));
    if (!row) wrong.push(`payment ${payment.id} is unknown to us`);
    else if (Number(row.captured) !== payment.capturedAmount) {
      wrong.push(`payment ${row.id}: they took ${payment.capturedAmount}, we have ${row.captured}`);
    } else if (Number(row.refunded) !== back) {
      wrong.push(`payment ${row.id}: they gave back ${back}, we have ${row.refunded}`);
    } else if (Number(row.disputed) !== disputed) {
      wrong.push(`payment ${row.id}: disputes took ${disputed}, we have ${row.disputed}`);
    } else if (!isHome(row) && back + disputed !== payment.capturedAmount) {
      wrong.push(`payment ${row.id}: order ${row.order_status}, only ${back} went back`);
    }
  }
  for (const row of rows) {
    if (row.payment_status === 'succeeded' && !theirs.has(row.id))
      wrong.push(`${row.id} is ours only`);
  }
  const keys = new Set(given.map(({ id, idempotencyKey }) => idempotencyKey?.slice(0, 36) ?? id));
  if (keys.size !== given.length) wrong.push('a refund was made twice');
  return wrong;
}

/** The shop has it: a part of it may have gone back, all of it only once the goods were gone. */
const isHome = ({ order_status: status, hold_reason: hold, captured, ...row }: Ours): boolean =>
  hold !== null ||
  ['shipped', 'completed'].includes(status) ||
  (status === 'paid' && Number(row.refunded) + Number(row.disputed) < Number(captured));

const sum = (moves: readonly { readonly amount: number }[]): number =>
  moves.reduce((total, { amount }) => total + amount, 0);
