import 'reflect-metadata';
import { refundKey } from '../../libs/orders/src/providers/refund-key';
import { REFUND_KIND } from '../../libs/orders/src/targets/target-parts';
import { fromPg } from '../../libs/timeout/src/public';
import { post } from '../support/ledger-provider';
import { untilLocksAreWaitedFor } from '../support/lock-waits';
import { EXPIRED } from '../support/numbered-shop';
import { type NumberedShop, openNumberedShop } from '../support/open-numbered-shop';
import { until } from '../support/until';

const ANN = { actor: 'ann', reason: 'sent by the bank' };

describe('a refund of a close target', () => {
  let shop: NumberedShop;
  let told = 0;
  beforeAll(async () => {
    shop = await openNumberedShop();
  });
  afterAll(() => shop?.close());
  beforeEach(() => void (shop.acme.around = async () => undefined));

  const refundOf = (reference: string) =>
    shop.first('SELECT * FROM lastcall.target_refunds WHERE payment_id = $1', [reference]);
  const waitsOf = async (id: string) =>
    (await shop.targets.waiting()).filter((wait) => wait.id === `refund:${id}`);

  /** All alerts of a refund, once there are so many: they are told behind commits, which others see before. */
  const alertsOf = async (id: string, count: number) => {
    const told = () => shop.alerts.filter(([, { refundId }]) => refundId === id);
    await until(`${count} alerts`, () => told().length >= count);
    return told();
  };
  const alerted = async (id: string, count: number) =>
    (await alertsOf(id, count)).map(([what]) => what);

  /** Closed, and then paid; answers with the refund's id. */
  async function paidTooLate(reference: string): Promise<string> {
    shop.acme.unreachable = undefined;
    const orderId = await shop.place(0, [reference]);
    await until('it is closed', async () => {
      const order = await shop.first('SELECT state FROM orders WHERE id = $1', [orderId]);
      return Number(order?.state) === EXPIRED;
    });
    shop.acme.unreachable = 'before';
    await shop.receive(shop.acme.pay(reference, new Date(), { late: true }));
    return (await until('it is to go back', () => refundOf(reference))).id as string;
  }

  async function tell(
    reference: string,
    type: string,
    attempt: number,
    providerRefundId: string | null,
  ): Promise<void> {
    const eventId = `event-${++told}`;
    const refund = await refundOf(reference);
    const idempotencyKey = refundKey(String(refund?.id), attempt);
    const about = { paymentId: reference, providerPaymentId: `pay-${reference}`, amount: 1_999 };
    const said = { ...about, why: 'x', providerRefundId, idempotencyKey };
    await shop.receive(post({ eventId, type, ...said }));
    await until(`${type} is applied`, async () => {
      const sql = 'SELECT status FROM lastcall.target_webhooks WHERE event_id = $1';
      return (await shop.first(sql, [eventId]))?.status !== 'received';
    });
  }

  it('that failed in two attempts is not done by old stories of both', async () => {
    await paidTooLate('p-1');
    await tell('p-1', 'refund.failed', 1, 're-1');
    await until('it is tried anew', async () => Number((await refundOf('p-1'))?.attempt) === 2);
    await tell('p-1', 'refund.failed', 2, 're-2');
    await tell('p-1', 'refund.succeeded', 1, 're-1');
    await tell('p-1', 'refund.succeeded', 2, 're-2');
    expect(await refundOf('p-1')).toMatchObject({ status: 'needs_attention' });
  });

  it('that was made by hand is listed when its provider makes it too, and told of once', async () => {
    const id = await paidTooLate('p-2');
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    await tell('p-2', 'refund.succeeded', 1, 're-3');
    expect(await waitsOf(id)).toMatchObject([
      { what: 'refund_twice', amount: 1_999, isOverdue: true, exits: ['dismiss'] },
    ]);
    await tell('p-2', 'refund.succeeded', 1, 're-3');
    const fields = expect.objectContaining({ refundId: id, providerRefundId: 're-3' }) as unknown;
    expect(await alertsOf(id, 1)).toEqual([['refund_made_twice', fields]]);
    await shop.targets.settle(`refund:${id}`, 'dismiss', ANN);
    await tell('p-2', 'refund.succeeded', 1, 're-3');
    expect(await waitsOf(id)).toEqual([]);
  });

  it('that is made by hand while its provider is being asked is listed, too', async () => {
    const id = await paidTooLate('p-3');
    let asked = false;
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    shop.acme.around = async (call, when) => {
      if (call !== 'refund' || when !== 'after') return;
      asked = true;
      await held;
    };
    shop.acme.unreachable = undefined;
    await until('the provider has made it', () => asked);
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    expect(await waitsOf(id)).toEqual([]);
    letGo();
    await until('it is listed', async () => (await waitsOf(id))[0]?.what === 'refund_twice');
    expect(await alerted(id, 1)).toEqual(['refund_made_twice']);
  });

  /** Its first attempt has failed, and the second is at the provider. */
  async function triedAnew(reference: string): Promise<string> {
    const id = await paidTooLate(reference);
    await tell(reference, 'refund.failed', 1, `${reference}-re-1`);
    await until('it is tried anew', async () => Number((await refundOf(reference))?.attempt) === 2);
    return id;
  }
  const unended = (attempt: number) =>
    `attempt ${attempt} was sent, and its provider has told no end of it`;
  const madeFor = (reference: string) => shop.acme.entries.get(`pay-${reference}`)?.refunds.length;
  const whatWaits = async (id: string) => (await waitsOf(id)).map(({ what }) => what);

  it('is listed when both attempts were made, the old one told of first', async () => {
    const id = await triedAnew('p-4');
    await tell('p-4', 'refund.succeeded', 1, 'p-4-re-1');
    await tell('p-4', 'refund.succeeded', 2, 'p-4-re-2');
    const detail = expect.stringContaining('made as p-4-re-1, p-4-re-2') as unknown;
    expect(await waitsOf(id)).toMatchObject([{ what: 'refund_twice', detail }]);
    expect(await alerted(id, 2)).toEqual(['refund_contradiction', 'refund_made_twice']);
  });

  it('is done by the other attempt when the current one fails afterwards, and not sent again', async () => {
    const id = await triedAnew('p-5');
    await tell('p-5', 'refund.succeeded', 2, 'p-5-re-2');
    await tell('p-5', 'refund.succeeded', 1, 'p-5-re-1');
    await tell('p-5', 'refund.failed', 2, 'p-5-re-2');
    expect(await refundOf('p-5')).toMatchObject({ status: 'succeeded', attempt: 2 });
    expect(await whatWaits(id)).toEqual([]);
    expect(await alerted(id, 2)).toEqual(['refund_made_twice', 'refund_failed_afterwards']);
  });

  it('is one where the provider has the same refund under two keys', async () => {
    const id = await triedAnew('p-6');
    await tell('p-6', 'refund.succeeded', 2, 'p-6-re-1');
    await tell('p-6', 'refund.succeeded', 1, 'p-6-re-1');
    expect(await whatWaits(id)).toEqual([]);
    expect(await alerted(id, 0)).toEqual([]);
  });

  it('goes on with the current attempt when the end of another is told again, without an id', async () => {
    await triedAnew('p-16');
    await tell('p-16', 'refund.failed', 1, null);
    expect(await refundOf('p-16')).toMatchObject({ status: 'requested', attempt: 2 });
    await tell('p-16', 'refund.succeeded', 2, 'p-16-re-2');
  });

  it('is no longer listed when what was made besides has failed', async () => {
    const id = await paidTooLate('p-7');
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    await tell('p-7', 'refund.succeeded', 1, 'p-7-re-1');
    await tell('p-7', 'refund.failed', 1, 'p-7-re-1');
    expect(await whatWaits(id)).toEqual([]);
    expect(await refundOf('p-7')).toMatchObject({ status: 'succeeded' });
  });

  it('stays dismissed whichever of several is told of again', async () => {
    const id = await triedAnew('p-8');
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    await tell('p-8', 'refund.succeeded', 1, 'p-8-re-1');
    await tell('p-8', 'refund.succeeded', 2, 'p-8-re-2');
    await shop.targets.settle(`refund:${id}`, 'dismiss', ANN);
    await tell('p-8', 'refund.succeeded', 1, 'p-8-re-1');
    await tell('p-8', 'refund.succeeded', 2, 'p-8-re-2');
    expect(await whatWaits(id)).toEqual([]);
    expect(await alerted(id, 2)).toEqual(['refund_made_twice', 'refund_made_twice']);
  });

  it('stays listed where another attempt is told of as it is dismissed', async () => {
    const id = await paidTooLate('p-14');
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    await tell('p-14', 'refund.succeeded', 1, 'p-14-re-1');
    const [before] = await waitsOf(id);
    const seen = before?.detail as string;
    const other = { attempt: 2, providerRefundId: 'p-14-re-2' };
    await shop.client.query('BEGIN');
    await shop.client.query(
      'UPDATE lastcall.target_refunds SET made = made || $2::jsonb WHERE id = $1',
      [id, JSON.stringify({ ...other, hasFailed: false, isDismissed: false })],
    );
    const dismissing = shop.targets.settle(`refund:${id}`, 'dismiss', ANN).catch((error) => error);
    await untilLocksAreWaitedFor(shop.client, 1);
    await shop.client.query('COMMIT');
    expect(await dismissing).toMatchObject({ code: 'not_found' });
    expect(await whatWaits(id)).toEqual(['refund_twice']);
    const dismiss = (what: string) =>
      shop.targets.settle(`refund:${id}`, 'dismiss', { ...ANN, seen: what });
    await expect(dismiss(seen)).rejects.toThrow('look at it again');
    const [after] = await waitsOf(id);
    await dismiss(after?.detail as string);
    expect(await whatWaits(id)).toEqual([]);
  });

  it('is sent anew once where two say so at once', async () => {
    const id = await triedAnew('p-15');
    await shop.client.query(
      `UPDATE lastcall.target_refunds SET status = 'needs_attention', asked = 0 WHERE id = $1`,
      [id],
    );
    await shop.client.query('BEGIN');
    await shop.client.query(
      `UPDATE lastcall.target_refunds SET status = 'requested', attempt = attempt + 1 WHERE id = $1`,
      [id],
    );
    const retrying = shop.targets.settle(`refund:${id}`, 'retry', ANN).catch((error) => error);
    await untilLocksAreWaitedFor(shop.client, 1);
    await shop.client.query('COMMIT');
    expect(await retrying).toMatchObject({ code: 'not_found' });
    expect(await refundOf('p-15')).toMatchObject({ status: 'requested', attempt: 3 });
    // Where all fail alike and none succeeds, a few are tried at a time: those of the next tests have to be.
    await tell('p-15', 'refund.succeeded', 3, 'p-15-re-3');
  });

  it('says which attempt was made, and is not sent again while that one stands', async () => {
    const id = await triedAnew('p-10');
    await tell('p-10', 'refund.succeeded', 1, 'p-10-re-1');
    const [made, detail] = ['attempt 1 was made as p-10-re-1', unended(2)];
    expect(await waitsOf(id)).toMatchObject([
      {
        what: 'refund_in_attention',
        detail: `late_payment: x; ${made}; ${detail}`,
        exits: ['done'],
      },
    ]);
    const retry = () => shop.targets.settle(`refund:${id}`, 'retry', ANN);
    await expect(retry()).rejects.toThrow(made);
    expect(await refundOf('p-10')).toMatchObject({ status: 'needs_attention', attempt: 2 });
    await tell('p-10', 'refund.failed', 1, 'p-10-re-1');
    expect(await waitsOf(id)).toMatchObject([
      { detail: `late_payment: x; ${detail}`, exits: ['retry', 'done'] },
    ]);
    // That attempt ends as well: only then is there another one.
    await tell('p-10', 'refund.failed', 2, 'p-10-re-2');
    expect(await waitsOf(id)).toMatchObject([
      { detail: 'late_payment: x', exits: ['retry', 'done'] },
    ]);
    await retry();
    expect(await refundOf('p-10')).toMatchObject({ attempt: 3 });
  });

  /** The first attempt is said to be made while the second one is, and nobody hears of that. */
  async function contradicted(reference: string): Promise<string> {
    const id = await triedAnew(reference);
    shop.acme.unreachable = 'after';
    await until('the second is made', () => madeFor(reference) === 1);
    await tell(reference, 'refund.succeeded', 1, `${reference}-re-1`);
    expect(await refundOf(reference)).toMatchObject({ status: 'needs_attention', attempt: 2 });
    return id;
  }
  /** Sent once more, it has to be what was made already. */
  async function retriedOnce(reference: string, id: string): Promise<void> {
    const [wait] = await waitsOf(id);
    shop.acme.unreachable = undefined;
    await shop.targets.settle(`refund:${id}`, 'retry', ANN);
    await until('it is over', async () => (await refundOf(reference))?.status === 'succeeded');
    expect(madeFor(reference)).toBe(1);
    expect(await refundOf(reference)).toMatchObject({ attempt: 2 });
    expect(wait).toMatchObject({ detail: expect.stringContaining(unended(2)) as unknown });
  }

  it('goes on with an attempt whose end is not known, and none is sent beside it', async () => {
    const id = await contradicted('p-11');
    await tell('p-11', 'refund.failed', 1, 'p-11-re-1');
    await retriedOnce('p-11', id);
  });

  it('goes on with that also where it was said to be done meanwhile', async () => {
    const id = await contradicted('p-12');
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    await tell('p-12', 'refund.failed', 1, 'p-12-re-1');
    await retriedOnce('p-12', id);
  });

  it('is sent anew where that attempt has failed after it was said to be done', async () => {
    const id = await contradicted('p-13');
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    await tell('p-13', 'refund.failed', 2, 'p-13-re-2');
    await tell('p-13', 'refund.failed', 1, 'p-13-re-1');
    await shop.targets.settle(`refund:${id}`, 'retry', ANN);
    expect(await refundOf('p-13')).toMatchObject({ status: 'requested', attempt: 3 });
  });

  it('that waits twice is ended by the exits of both waits', async () => {
    const id = await triedAnew('p-9');
    await tell('p-9', 'refund.failed', 2, 'p-9-re-2');
    const dueAt = new Date();
    await shop.timeouts.arm(fromPg(shop.client), [{ kind: REFUND_KIND, subjectId: id, dueAt }]);
    await until('it is tried anew', async () => Number((await refundOf('p-9'))?.attempt) === 3);
    await tell('p-9', 'refund.succeeded', 1, 'p-9-re-1');
    await tell('p-9', 'refund.succeeded', 2, 'p-9-re-2');
    expect((await whatWaits(id)).sort()).toEqual(['refund_in_attention', 'refund_twice']);
    const dismissed = await shop.targets.settle(`refund:${id}`, 'dismiss', ANN);
    expect(dismissed.what).toBe('refund_twice');
    expect(await whatWaits(id)).toEqual(['refund_in_attention']);
    const detail = expect.stringContaining(
      'attempt 1 was made as p-9-re-1 and dismissed',
    ) as unknown;
    expect(await waitsOf(id)).toMatchObject([{ detail }]);
    await shop.targets.settle(`refund:${id}`, 'done', ANN);
    expect(await whatWaits(id)).toEqual([]);
  });
});
