import 'reflect-metadata';
import { fromPg } from '../../libs/timeout/src/public';
import { EXPIRED, KIND } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const LONG_MS = 3_600_000;

describe('an order of a close target that waits for its provider', () => {
  let shop: NumberedShop;
  beforeAll(async () => {
    shop = await openNumberedShop();
  });
  afterAll(() => shop?.close());
  beforeEach(() => {
    shop.acme.unreachable = undefined;
    shop.alerts.length = 0;
  });

  /** Canceled, and behind the fence as long as the provider is silent. */
  async function canceled(reference: string): Promise<string> {
    shop.acme.unreachable = 'before';
    const orderId = await shop.place(LONG_MS, [reference]);
    expect(await shop.targets.close({ kind: KIND, orderId }, 'canceled')).toBe('closing');
    return orderId;
  }

  async function passDeadline(subjectId: string): Promise<void> {
    await shop.timeouts.arm(fromPg(shop.client), [{ kind: KIND, subjectId, dueAt: new Date() }]);
    await until('its deadline is gone', async () => {
      return (await shop.timeouts.get({ kind: KIND, subjectId })) === undefined;
    });
  }

  const closed = (id: string) =>
    until(`order ${id} is closed`, async () => {
      const order = await shop.first('SELECT state, reason FROM orders WHERE id = $1', [id]);
      return Number(order?.state) === EXPIRED ? order : undefined;
    });

  it('closes for the reason that it waits for, though its deadline passes meanwhile', async () => {
    const id = await canceled('p-late');
    await passDeadline(id);
    shop.acme.unreachable = undefined;
    expect(await closed(id)).toMatchObject({ reason: 'canceled' });
  });

  it('closes for that reason where its deadline finds it without a payment', async () => {
    const id = await canceled('p-gone');
    await shop.client.query('DELETE FROM payments WHERE order_id = $1', [id]);
    await passDeadline(id);
    expect(await closed(id)).toMatchObject({ reason: 'canceled' });
    const ours = 'SELECT status, reason FROM lastcall.target_orders WHERE order_id = $1';
    expect(await shop.first(ours, [id])).toEqual({ status: 'closed', reason: 'canceled' });
  });

  const waits = async (orderId: string) =>
    (await shop.targets.waiting()).filter(({ subject }) => subject === orderId);

  /** With another payment, which its provider says nothing of. */
  async function paid(...references: [string, string]): Promise<string> {
    const id = await shop.place(LONG_MS, references);
    shop.acme.unreachable = 'before';
    await shop.receive(shop.acme.pay(references[0], new Date()));
    await until('the provider is asked', async () => {
      const asked = 'SELECT 1 FROM lastcall.target_orders WHERE order_id = $1 AND attempts > 1';
      return (await shop.first(asked, [id])) !== undefined;
    });
    return id;
  }

  it('is listed though it is paid, until its other payment is ended', async () => {
    const id = await paid('p-1', 'p-2');
    expect(await waits(id)).toMatchObject([
      { what: 'payment_unended', kind: KIND, exits: ['closed'], isOverdue: false },
    ]);
    shop.acme.unreachable = undefined;
    await until('it is ended there', () => shop.acme.entries.get('pay-p-2')?.status === 'closed');
    await until('nobody waits', async () => (await waits(id)).length === 0);
  });

  it('is not listed where an older version has ended its other payment, and counted that', async () => {
    const id = await paid('p-5', 'p-6');
    shop.acme.unreachable = undefined;
    const asking = { kind: `${KIND}.closing`, subjectId: id };
    await until('nobody asks', async () => (await shop.timeouts.get(asking)) === undefined);
    await shop.client.query('UPDATE lastcall.target_orders SET attempts = 2 WHERE order_id = $1', [
      id,
    ]);
    expect(await waits(id)).toEqual([]);
  });

  it('is asked about no more when somebody says that its other payment is closed', async () => {
    const id = await paid('p-3', 'p-4');
    const [wait] = await waits(id);
    await shop.targets.settle(String(wait?.id), 'closed', { actor: 'ann', reason: 'says acme' });
    await until('nobody waits', async () => (await waits(id)).length === 0);
    const asking = { kind: `${KIND}.closing`, subjectId: id };
    expect(await shop.timeouts.get(asking)).toBeUndefined();
    shop.acme.unreachable = undefined;
    await shop.receive(shop.acme.pay('p-4', new Date()));
    await until('what comes all the same is sent back', () => {
      return shop.acme.entries.get('pay-p-4')?.refunds.length === 1;
    });
  });

  it('has its money held when somebody says that it was paid, and the shop has moved it on', async () => {
    const id = await canceled('p-moved');
    await shop.client.query(`UPDATE orders SET state = ${EXPIRED} WHERE id = $1`, [id]);
    const [wait] = await waits(id);
    const paidBy = (payment: string) =>
      shop.targets.settle(String(wait?.id), 'paid', { actor: 'ann', reason: 'says acme', payment });
    await shop.place(LONG_MS, ['p-of-another']);
    await paidBy('p-of-another');
    const alerted = (what: string) => shop.alerts.find(([one]) => one === what)?.[1];
    await until('that one is refused', () => alerted('operators_word_refused'));
    expect(await waits(id)).toMatchObject([{ what: 'order_closing' }]);

    await paidBy('p-moved');
    const held = await until('its money is held', async () => {
      const [first] = await waits(id);
      return first?.what === 'money_on_hold' ? first : undefined;
    });
    expect(held).toMatchObject({ amount: 1_999, detail: 'order_moved_on', exits: ['keep'] });
    // Told behind the commit, which others see before.
    const told = await until('it is told', () => alerted('money_on_hold'));
    expect(told).toMatchObject({ orderId: id, paymentId: 'p-moved' });
    const asking = { kind: `${KIND}.closing`, subjectId: id };
    expect(await shop.timeouts.get(asking)).toBeUndefined();
    // Nobody knows yet what the provider calls it: there is nothing to send back by.
    const ann = { actor: 'ann', reason: 'nobody wants it' };
    await expect(shop.targets.settle(held.id, 'refund', ann)).rejects.toThrow('"keep"');

    shop.acme.unreachable = undefined;
    await shop.receive(shop.acme.pay('p-moved', new Date()));
    const named = await until('its webhook has named it', async () => {
      const [first] = await waits(id);
      return first?.id === held.id ? undefined : first;
    });
    expect(named).toMatchObject({ exits: ['refund', 'keep'] });
    await shop.targets.settle(named.id, 'refund', ann);
    await until('it is sent back', () => {
      return shop.acme.entries.get('pay-p-moved')?.refunds.length === 1;
    });
    await until('nobody waits', async () => (await waits(id)).length === 0);
  });

  it('keeps its pauses, however often it is asked to close', async () => {
    const orderId = await canceled('p-polled');
    const subject = { kind: `${KIND}.closing`, subjectId: orderId };
    const ours = 'SELECT attempts, reason FROM lastcall.target_orders WHERE order_id = $1';
    await until('the provider is asked', async () => {
      return Number((await shop.first(ours, [orderId]))?.attempts) > 0;
    });
    // As after many questions, so that the next one is not asked meanwhile.
    const dueAt = new Date(Date.now() + LONG_MS);
    await shop.timeouts.arm(fromPg(shop.client), [{ ...subject, dueAt }]);
    const asked = await shop.first(ours, [orderId]);
    for (let n = 0; n < 12; n++) {
      // The answer to the first question may have the row still.
      const outcome = await until('nobody else has the row', async () => {
        const found = await shop.targets.close({ kind: KIND, orderId }, 'overdue');
        return found === 'busy' ? undefined : found;
      });
      expect(outcome).toBe('closing');
      expect(await shop.timeouts.get(subject)).toMatchObject({ dueAt });
    }
    expect(await shop.first(ours, [orderId])).toEqual(asked);
    // Of the provider, which was silent in the tests before as well, it may be told.
    expect(shop.alerts.filter(([, fields]) => fields.orderId === orderId)).toEqual([]);
  });
});
