import { inTransaction } from '@app/timeout';
import { anotherPayment } from '../../../../test/support/another-payment';
import { paidOrder, type Payable } from '../../../../test/support/paid-order';
import { refundAttemptsOf } from '../../../../test/support/refund-attempts';
import { openWorld, type World } from '../../../../test/support/world';
import { SettleClosing } from '../closing/settle-closing';
import { ConfirmReceipt } from '../fulfilment/confirm-receipt';
import { ShipOrder } from '../fulfilment/ship-order';
import { RefundDeadline } from '../money/refund.deadline';
import { SettleRefunds } from '../money/settle-refunds';
import { EraseCustomer } from './erase-customer';

/** What a provider says of an order that is over, but whose refund is not, after its customer was erased. */

const WORDS = 'the account of Zora Z. is closed';
const FAILED = { state: 'FAILED', providerRefundId: 're-1', why: WORDS } as const;

let world: World;
beforeEach(async () => (world = await openWorld()));
afterEach(async () => {
  jest.restoreAllMocks();
  await world?.close();
});

const { owed, settle, comesDue, pauseIsOver, untilOneWaits } = refundAttemptsOf(
  () => world,
  RefundDeadline,
);
const erase = () =>
  new EraseCustomer(world.dataSource, world.stream).erase('zora', {
    ...{ actor: 'olivia', reason: 'request 2026-17' },
  });

/** It is over, and its buyer still waits for a refund. */
async function completed(): Promise<Payable & { readonly refundId: string }> {
  const order = await paidOrder(world, { customerId: 'zora' });
  const refundId = await owed(order, 300);
  await world.get(ShipOrder).ship(order.id, 'mia');
  await world.get(ConfirmReceipt).confirm(order.id, 'zora');
  return { ...order, refundId };
}

const expectNoWords = async (): Promise<void> => {
  const tables = ['payments', 'refunds', 'money_movements'];
  const kept = tables.map((table) => world.rows(`SELECT * FROM ${table}`));
  expect(JSON.stringify(await Promise.all(kept))).not.toContain('Zora');
};

it('does not come back with the next attempt at a refund, which is told of as ever', async () => {
  const { refundId } = await completed();
  await erase();
  await settle(refundId, 1, FAILED);
  await expectNoWords();
  const moved = await world.rows(`SELECT ref FROM money_movements WHERE kind = 'refund_failed'`);
  expect(moved).toEqual([{ ref: 're-1' }]);

  await pauseIsOver(refundId);
  await comesDue(refundId);
  const asked = jest.spyOn(world.provider, 'refund');
  asked.mockResolvedValue({ state: 'UNKNOWN', why: WORDS });
  await world.timeouts.runSweep();
  expect(asked).toHaveBeenCalled();
  await expectNoWords();
});

it('does not come back with a payment that is still open at its provider', async () => {
  const order = await completed();
  await anotherPayment(world, order.id, { status: 'open' });
  await erase();
  const asked = jest.spyOn(world.provider, 'findPayment');
  asked.mockResolvedValue({ state: 'UNKNOWN', why: WORDS });
  await world.get(SettleClosing).settle(order.id);
  expect(asked).toHaveBeenCalled();
  await expectNoWords();
});

it('stays with customers who are there', async () => {
  const { refundId } = await completed();
  await settle(refundId, 1, FAILED);
  const read = 'SELECT error FROM refunds UNION ALL SELECT reason FROM money_movements';
  const words = await world.rows<{ error: string | null }>(read);
  expect(words.filter(({ error }) => error === WORDS)).toHaveLength(2);
});

describe('that is written down while its customer is being erased', () => {
  /** Whoever reaches it stands still until it is opened. */
  const gate = () => {
    let [open, reach] = [(): void => undefined, (): void => undefined];
    const opened = new Promise<void>((resolve) => (open = resolve));
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const stop = (): Promise<void> => {
      reach();
      return opened;
    };
    return { stop, reached, open: () => open() };
  };

  it('is erased with all else', async () => {
    const { refundId } = await completed();
    const { stop, reached, open } = gate();
    const answered = inTransaction(world.dataSource, async (tx) => {
      await world.get(SettleRefunds).settle(tx, refundId, 1, FAILED, 'webhook');
      await stop();
    });
    await reached;
    const erased = erase();
    await untilOneWaits('%refunds%').finally(open);
    await Promise.all([answered, erased]);
    await expectNoWords();
  });

  it('waits for that, and is not kept', async () => {
    const { refundId } = await completed();
    const { stop, reached, open } = gate();
    jest.spyOn(world.stream, 'forgetReasons').mockImplementation(() => stop().then(() => 0));
    const erased = erase();
    await reached;
    const answered = settle(refundId, 1, FAILED);
    await untilOneWaits('%refunds%').finally(open);
    await Promise.all([answered, erased]);
    await expectNoWords();
  });
});
