import type { LedgerPayment } from '../providers/payment-provider';
import type { OurPayment, OurRefund } from './reconcile-finding';
import { comparePayment } from './reconcile.judgement';

const REFUND_ID = '0190a0a0-0000-7000-8000-000000000001';
const MONEY = { amount: 500, currency: 'EUR' };
const ours = (change: Partial<OurPayment> = {}): OurPayment => ({
  id: 'p1',
  orderId: 'o1',
  providerPaymentId: 'pay_1',
  status: 'succeeded',
  captured: MONEY,
  isNew: false,
  refunds: [],
  foreign: [],
  ...change,
});
const theirs = (change: Partial<LedgerPayment> = {}): LedgerPayment => ({
  providerPaymentId: 'pay_1',
  paymentId: 'p1',
  captured: { ...MONEY, paidAt: new Date(0) },
  refunds: [],
  ...change,
});
const ourRefund = (change: Partial<OurRefund> = {}): OurRefund => ({
  id: REFUND_ID,
  status: 'succeeded',
  attempt: 1,
  amount: 500,
  providerRefundId: 're_1',
  isByHand: false,
  isNew: false,
  ...change,
});
const theirRefund = (
  state: 'PENDING' | 'SUCCEEDED' | 'FAILED',
  key: string | null = REFUND_ID,
) => ({
  providerRefundId: 're_1',
  idempotencyKey: key,
  amount: 500,
  state,
});

describe('comparePayment', () => {
  it('records what was refunded by hand or disputed, once, and what became of it', () => {
    const byHand = { providerRefundId: 'hand', idempotencyKey: null, amount: 100 };
    const done = theirs({ refunds: [{ ...byHand, state: 'SUCCEEDED' }] });
    const failed = theirs({ refunds: [{ ...byHand, state: 'FAILED' }] });
    const known = ours({ foreign: [{ kind: 'foreign_refund', ref: 'hand' }] });
    expect(comparePayment(ours(), done)).toMatchObject([
      { kind: 'theirs_only', fix: { move: { what: 'refund.succeeded', amount: 100 } } },
    ]);
    expect(comparePayment(known, done)).toEqual([]);
    expect(comparePayment(ours(), failed)).toEqual([]);
    expect(comparePayment(known, failed)).toMatchObject([
      { fix: { move: { what: 'refund.failed' } } },
    ]);
    const lost = theirs({ disputes: [{ disputeId: 'd', amount: 500, state: 'LOST' }] });
    const open = ours({ foreign: [{ kind: 'disputed', ref: 'd' }] });
    expect(comparePayment(open, lost)).toMatchObject([
      { kind: 'different', subject: 'dispute', fix: { move: { what: 'dispute.lost' } } },
    ]);
    const over = [...open.foreign, { kind: 'dispute_lost', ref: 'd' } as const];
    expect(comparePayment(ours({ foreign: over }), lost)).toEqual([]);
    const dispute = { disputeId: 'd', amount: 500, state: 'LOST', returned: 200 } as const;
    const inPart = theirs({ disputes: [dispute] });
    expect(comparePayment(ours({ foreign: over }), inPart)).toMatchObject([
      { kind: 'different', ours: 'lost 500', theirs: 'lost 500, 200 back' },
    ]);
    expect(comparePayment(open, inPart)).toMatchObject([{ fix: { move: { returned: 200 } } }]);
    const back = [...over, { kind: 'dispute_returned', ref: 'd' } as const];
    expect(comparePayment(ours({ foreign: back }), inPart)).toEqual([]);
  });

  it('finds nothing where both sides agree', () => {
    expect(comparePayment(ours(), theirs())).toEqual([]);
    const open = ours({ status: 'open', captured: null });
    expect(comparePayment(open, theirs({ captured: null }))).toEqual([]);
    const refunded = ours({ refunds: [ourRefund()] });
    expect(comparePayment(refunded, theirs({ refunds: [theirRefund('SUCCEEDED')] }))).toEqual([]);
  });

  it('finds a payment that nobody of ours made', () => {
    expect(comparePayment(undefined, theirs())).toMatchObject([
      { kind: 'theirs_only', subject: 'payment', theirs: '500 EUR' },
    ]);
  });

  it('finds nothing of a payment that nobody of ours made, and whose money is not there', () => {
    const back = theirs({ refunds: [theirRefund('SUCCEEDED')] });
    for (const line of [theirs({ captured: null }), back]) {
      expect(comparePayment(undefined, line)).toEqual([]);
    }
    const dispute = { disputeId: 'd', amount: 500, state: 'LOST', returned: 200 } as const;
    expect(comparePayment(undefined, theirs({ disputes: [dispute] }))).toMatchObject([
      { kind: 'theirs_only', theirs: '500 EUR, 300 back' },
    ]);
    const part = { ...theirRefund('SUCCEEDED'), amount: 100 };
    expect(comparePayment(undefined, theirs({ refunds: [part] }))).toMatchObject([
      { kind: 'theirs_only', theirs: '500 EUR, 100 back' },
    ]);
    const lost = [{ disputeId: 'd', amount: 500, state: 'LOST' } as const];
    expect(comparePayment(undefined, theirs({ disputes: lost }))).toEqual([]);
  });

  it('finds money that we do not know of, and how to settle it', () => {
    const closed = ours({ status: 'closed', captured: null });
    expect(comparePayment(closed, theirs())).toMatchObject([
      { kind: 'different', what: 'status', fix: { type: 'capture', orderId: 'o1' } },
    ]);
  });

  it('finds what took money away before what brings it, and the money itself last', () => {
    const made = (providerRefundId: string, state: 'SUCCEEDED' | 'FAILED') => {
      return { providerRefundId, idempotencyKey: null, amount: 100, state };
    };
    const refunds = [made('back', 'FAILED'), made('gone', 'SUCCEEDED')];
    const disputes = (['WON', 'OPEN'] as const).map((state) => ({
      ...{ disputeId: state, amount: 100, state },
    }));
    const closed = ours({
      ...{ status: 'closed', captured: null },
      foreign: [{ kind: 'foreign_refund', ref: 'back' }],
    });
    const findings = comparePayment(closed, theirs({ refunds, disputes }));
    expect(
      findings.map(({ fix }) => (fix?.type === 'foreign' ? fix.move.what : fix?.type)),
    ).toEqual(['dispute.opened', 'refund.succeeded', 'dispute.won', 'refund.failed', 'capture']);
  });

  it('finds money that the provider does not have, or another amount: nothing is safe there', () => {
    const part = theirs({ refunds: [{ ...theirRefund('SUCCEEDED'), amount: 499 }] });
    for (const [payment, line] of [
      [ours(), theirs({ captured: null })],
      [ours(), theirs({ captured: { ...MONEY, amount: 499, paidAt: new Date(0) } })],
      [ours({ refunds: [ourRefund()] }), part],
    ] as const) {
      const [finding] = comparePayment(payment, line);
      expect(finding?.kind).toBe('different');
      expect(finding?.fix).toBeUndefined();
    }
  });

  it('does not mind money that was given back by hand', () => {
    const closed = ours({ status: 'closed', captured: null });
    const back = { ...theirRefund('SUCCEEDED'), idempotencyKey: null };
    expect(comparePayment(closed, theirs({ refunds: [back] }))).toEqual([]);
  });

  it('finds a refund that ended there and not here', () => {
    const pending = ours({ refunds: [ourRefund({ status: 'pending' })] });
    for (const state of ['SUCCEEDED', 'FAILED'] as const) {
      expect(comparePayment(pending, theirs({ refunds: [theirRefund(state)] }))).toMatchObject([
        { subject: 'refund', what: 'status', fix: { type: 'refund', attempt: 1 } },
      ]);
    }
    const failedLater = ours({ refunds: [ourRefund()] });
    const [finding] = comparePayment(failedLater, theirs({ refunds: [theirRefund('FAILED')] }));
    expect(finding?.fix).toMatchObject({ answer: { state: 'FAILED' } });
  });

  it('minds no earlier attempt that failed, but one that did not', () => {
    const second = ours({
      refunds: [ourRefund({ attempt: 2, providerRefundId: 're_2' })],
    });
    const success = {
      ...theirRefund('SUCCEEDED', `${REFUND_ID}-2`),
      providerRefundId: 're_2',
    };
    expect(comparePayment(second, theirs({ refunds: [theirRefund('FAILED'), success] }))).toEqual(
      [],
    );
    expect(
      comparePayment(second, theirs({ refunds: [theirRefund('SUCCEEDED'), success] })),
    ).toHaveLength(1);
  });

  it('minds nothing of ours that may be younger than their page, and settles what ended there', () => {
    const refunds = [ourRefund({ isNew: true })];
    expect(comparePayment(ours({ isNew: true }), theirs({ captured: null }))).toEqual([]);
    expect(comparePayment(ours({ refunds }), theirs())).toEqual([]);
    const pending = theirs({ refunds: [theirRefund('PENDING')] });
    expect(comparePayment(ours({ refunds }), pending)).toEqual([]);
    expect(comparePayment(ours({ refunds: [ourRefund()] }), pending)).toHaveLength(1);
    const sent = ours({ refunds: [ourRefund({ isNew: true, status: 'pending' })] });
    expect(comparePayment(sent, theirs({ refunds: [theirRefund('SUCCEEDED')] }))).toMatchObject([
      { subject: 'refund', fix: { type: 'refund' } },
    ]);
  });

  it.each(['requested', 'pending'] as const)(
    'finds nothing of one that is %s, and is on its way there',
    (status) => {
      const refunds = [ourRefund({ status })];
      const pending = theirs({ refunds: [theirRefund('PENDING')] });
      expect(comparePayment(ours({ refunds }), pending)).toEqual([]);
    },
  );

  it('takes no refund of ours for two of theirs', () => {
    const byHand = { ...theirRefund('SUCCEEDED', null), providerRefundId: 're_by_hand' };
    const taken = ours({ refunds: [ourRefund({ providerRefundId: 're_by_hand' })] });
    const own = theirRefund('SUCCEEDED');
    expect(comparePayment(taken, theirs({ refunds: [byHand, own] }))).toMatchObject([
      {
        ...{ kind: 'theirs_only', subject: 'refund', providerId: own.providerRefundId },
        fix: { type: 'foreign', move: { what: 'refund.succeeded', amount: own.amount } },
      },
    ]);
  });

  it('finds what became of a refund that is canceled by none of our requests', () => {
    const canceled = ours({ refunds: [ourRefund({ status: 'canceled' })] });
    expect(comparePayment(canceled, theirs({ refunds: [theirRefund('FAILED')] }))).toEqual([]);
    const back = theirs({ refunds: [theirRefund('SUCCEEDED')] });
    expect(comparePayment(canceled, back)).toMatchObject([
      { subject: 'refund', fix: { type: 'foreign', move: { what: 'refund.succeeded' } } },
    ]);
  });

  const tried = ['needs_attention', 'failed'] as const;
  it.each([...tried, 'requested', 'pending'] as const)(
    'settles what is %s by the earlier attempt that has sent it back',
    (status) => {
      const facts = { status, attempt: 2, providerRefundId: null };
      const waits = ours({ refunds: [ourRefund(facts)] });
      const [finding] = comparePayment(waits, theirs({ refunds: [theirRefund('SUCCEEDED')] }));
      expect(finding?.fix).toMatchObject({
        ...{ type: 'refund', attempt: 2 },
        answer: { state: 'SUCCEEDED', providerRefundId: theirRefund('SUCCEEDED').providerRefundId },
      });
    },
  );

  it.each(tried)(
    'settles one that was made by its first attempt, and is %s by its second',
    (status) => {
      const second = { ...theirRefund('FAILED', `${REFUND_ID}-2`), providerRefundId: 're_2' };
      const lines = theirs({ refunds: [second, theirRefund('SUCCEEDED')] });
      const facts = { status, attempt: 2, providerRefundId: 're_2' } as const;
      const findings = comparePayment(ours({ refunds: [ourRefund(facts)] }), lines);
      expect(findings).toMatchObject([
        {
          providerId: 're_1',
          fix: { type: 'refund', attempt: 2, answer: { providerRefundId: 're_1' } },
        },
      ]);
      const settled = ourRefund({ status: 'succeeded', attempt: 2, providerRefundId: 're_1' });
      expect(comparePayment(ours({ refunds: [settled] }), lines)).toEqual([]);
    },
  );

  it('finds refunds that only one side knows of', () => {
    expect(comparePayment(ours({ refunds: [ourRefund()] }), theirs())).toMatchObject([
      { kind: 'ours_only', subject: 'refund', refundId: REFUND_ID },
    ]);
    expect(comparePayment(ours(), theirs({ refunds: [theirRefund('SUCCEEDED')] }))).toMatchObject([
      { kind: 'theirs_only', subject: 'refund' },
    ]);
  });
});
