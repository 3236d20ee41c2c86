import { BY_HAND } from '../../../libs/orders/src/money/movements';
import { refundedOf } from '../../support/ledger-entry';
import type { World } from '../../support/world';
import type { Outside } from '../outside';

interface Transfer {
  readonly order_id: string;
  /** The provider's id. */
  readonly payment: string;
  /** Of the attempt that an operator has ended. */
  readonly ref: string;
  readonly amount: number;
}

/** What our books say that operators have sent by another way. Whoever crashed does not know what came of it. */
async function readTransfers(world: World): Promise<Transfer[]> {
  return world.rows<Transfer>(
    `SELECT m.order_id, p.provider_payment_id AS payment, m.ref, m.amount::int AS amount
       FROM money_movements m JOIN payments p ON p.id = m.payment_id
      WHERE m.kind = 'refund_succeeded' AND m.reason = $1`,
    [BY_HAND],
  );
}

/** By order, what no provider's ledger knows of. */
export async function sentByHand(world: World): Promise<ReadonlyMap<string, number>> {
  const sums = new Map<string, number>();
  for (const { order_id: id, amount } of await readTransfers(world)) {
    sums.set(id, (sums.get(id) ?? 0) + amount);
  }
  return sums;
}

/** What operators were told has to be so, and money goes back twice in no silence. */
export async function deskFaults(world: World, outside: Outside): Promise<string[]> {
  const transfers = await readTransfers(world);
  const beside = await world.rows<{ payment: string }>(
    `SELECT p.provider_payment_id AS payment FROM money_movements m JOIN payments p ON p.id = m.payment_id
      WHERE m.kind = 'foreign_refund'`,
  );
  const isTold = new Set(beside.map(({ payment }) => payment));
  const isBooked = ({ refundId, amount }: Outside['transfers'][number]): boolean =>
    transfers.some((one) => one.ref.startsWith(refundId) && one.amount === amount);
  return [
    ...outside.transfers
      .filter((one) => !isBooked(one))
      .map(({ refundId }) => `refund ${refundId} was settled and its money is not in the books`),
    ...outside.decided
      .filter((id, index) => outside.decided.indexOf(id) < index)
      .map((id) => `payment ${id} was decided about twice`),
    ...outside.entries
      .filter((entry) => {
        const sent = transfers.filter(({ payment }) => payment === entry.id);
        const sum = sent.reduce((all, { amount }) => all + amount, refundedOf(entry));
        return sent.length > 0 && sum > (entry.money?.amount ?? 0) && !isTold.has(entry.id);
      })
      .map(({ id }) => `${id}: sent by hand as well, and nobody is told that it went back twice`),
  ];
}
