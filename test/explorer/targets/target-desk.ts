import type { TargetExit, TargetWait, TargetWaitName } from '../../../libs/orders/src/targets';
import { type LedgerEntry, refundedOf } from '../../support/ledger-entry';
import type { TargetOrderAction } from './target-action';
import type { TargetOutside } from './target-outside';
import type { TargetShop } from './target-shop';

/** What the ids of refunds that wait begin with. */
const REFUND = 'refund:';
const OLGA = { actor: 'olga', reason: 'race' };

/** Does what an operator would, by what waits and by what the provider's own pages say; refusals are answers. */
export async function settleAtDesk(
  what: TargetOrderAction,
  orderId: string,
  shop: TargetShop,
  outside: TargetOutside,
): Promise<void> {
  const waits = await shop.targets.waiting();
  const ours = waits.filter((wait) => isOf(wait, orderId, outside));
  const find = (...names: TargetWaitName[]) => ours.find((wait) => names.includes(wait.what));
  switch (what) {
    case 'settle order':
      return settleOrder(find('order_closing', 'payment_unended'), orderId, shop, outside);
    case 'retry refund':
      return settle(shop, find('refund_in_attention'), 'retry');
    case 'settle refund':
      return settleRefund(find('refund_in_attention', 'refund_unfinished'), shop, outside);
    case 'refund held':
      return settle(shop, find('money_on_hold'), 'refund');
    case 'keep held':
      return settle(shop, find('money_on_hold'), 'keep');
    case 'settle webhook':
      return settle(shop, find('webhook_held'), 'replay');
    default:
      throw new Error(`No operator does "${what}"`);
  }
}

/** What waits for a person is ended, as it would be in time. */
export async function clearTargetDesk(shop: TargetShop, outside: TargetOutside): Promise<void> {
  for (const provider of outside.providers) provider.refundRefusal = undefined;
  const waits = await shop.targets.waiting();
  for (const [nth, wait] of waits.entries()) {
    switch (wait.what) {
      case 'refund_in_attention':
        await (wait.exits.includes('retry') && isLeft(await entryOf(wait, shop, outside))
          ? settle(shop, wait, 'retry')
          : settle(shop, wait, 'done'));
        break;
      case 'refund_unfinished': {
        // Its provider refuses it for good, as somebody has taken the money there.
        const entry = await entryOf(wait, shop, outside);
        if (entry && isTakenElsewhere(entry)) await settle(shop, wait, 'done');
        break;
      }
      case 'money_on_hold':
        await settle(
          shop,
          wait,
          nth % 2 === 0 && wait.exits.includes('refund') ? 'refund' : 'keep',
        );
        break;
      case 'webhook_held':
      case 'refund_twice':
        await settle(shop, wait, 'dismiss');
        break;
      default:
      // Its provider answers in time.
    }
  }
}

async function settle(
  shop: TargetShop,
  wait: TargetWait | undefined,
  exit: TargetExit,
  payment?: string,
): Promise<void> {
  if (!wait) return;
  await shop.targets.settle(wait.id, exit, { ...OLGA, ...(payment && { payment }) });
}

/** As paid, where its money is there; as closed, where the provider has ended all that could be paid. */
async function settleOrder(
  wait: TargetWait | undefined,
  orderId: string,
  shop: TargetShop,
  outside: TargetOutside,
): Promise<void> {
  if (!wait) return;
  const entries = outside.entriesOf(orderId);
  const paid = entries.find(
    ({ status, money, amount }) => status === 'paid' && money?.amount === amount,
  );
  outside.told.add(orderId);
  if (paid && wait.what === 'order_closing') return settle(shop, wait, 'paid', paid.reference);
  // By hand, on its provider's pages.
  for (const entry of entries) if (entry.status === 'open') entry.status = 'closed';
  return settle(shop, wait, 'closed');
}

/** By a bank transfer, unless the provider's pages have it. */
async function settleRefund(
  wait: TargetWait | undefined,
  shop: TargetShop,
  outside: TargetOutside,
): Promise<void> {
  if (!wait) return;
  const isMade = !isLeft(await entryOf(wait, shop, outside));
  await settle(shop, wait, 'done');
  if (!isMade) outside.byHand.add(wait.id.slice(REFUND.length));
}

/** What the provider knows of the money that this refund is of. */
async function entryOf(
  { id }: TargetWait,
  shop: TargetShop,
  outside: TargetOutside,
): Promise<LedgerEntry | undefined> {
  const [row] = await shop.runtime.rows<{ payment: string }>(
    'SELECT payment_id AS payment FROM target_refunds WHERE id = $1',
    [id.slice(REFUND.length)],
  );
  return row && outside.entry(row.payment);
}

const isLeft = (entry: LedgerEntry | undefined): boolean =>
  entry !== undefined && !isTakenElsewhere(entry) && refundedOf(entry) === 0;

/** By the buyer's bank, or in the provider's dashboard: so that a refund of ours is refused for good. */
const isTakenElsewhere = ({ disputes, refunds }: LedgerEntry): boolean =>
  disputes.length > 0 || refunds.some(({ key }) => key === null);

/** By the order; a webhook by its payment. */
function isOf({ what, subject }: TargetWait, orderId: string, outside: TargetOutside): boolean {
  if (what !== 'webhook_held') return subject === orderId;
  return outside.entriesOf(orderId).some(({ reference }) => reference === subject);
}
