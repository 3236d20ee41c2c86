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
      const order = await shop.only('SELECT state, reason FROM orders WHERE id = $1', [id]);
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
    expect(await shop.only(ours, [id])).toEqual({ status: 'closed', reason: 'canceled' });
  });
});
