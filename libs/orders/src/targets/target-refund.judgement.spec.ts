import type { SettledAnswer } from '../money/settle-refunds';
import { BY_HAND, judgeTargetRefund, type TargetRefundFacts } from './target-refund.judgement';

const REQUESTED: TargetRefundFacts = {
  status: 'requested',
  attempt: 1,
  providerRefundId: null,
  made: [],
};

interface Told {
  readonly attempt: number;
  readonly state: 'PENDING' | 'SUCCEEDED' | 'FAILED';
  readonly id: string;
}

const succeeds = (attempt: number, id = `re-${attempt}`): Told => ({
  attempt,
  state: 'SUCCEEDED',
  id,
});
const pends = (attempt: number, id = `re-${attempt}`): Told => ({ attempt, state: 'PENDING', id });
const fails = (attempt: number, id = `re-${attempt}`): Told => ({ attempt, state: 'FAILED', id });

const answerOf = ({ state, id }: Told): SettledAnswer =>
  state === 'FAILED'
    ? { state, providerRefundId: id, why: 'account closed' }
    : { state, providerRefundId: id };

/** A refund as its row is: what is decided is written down, and what has failed is sent anew. */
class Refund {
  facts = REQUESTED;
  isListed = false;
  readonly alerts: string[] = [];
  readonly sent = [1];
  isSentAnew = true;

  tell(...answers: Told[]): this {
    for (const one of answers) this.#settle(one);
    return this;
  }

  byHand(): this {
    const byHand = { attempt: BY_HAND, providerRefundId: null };
    const isMade = this.facts.made.some(({ hasFailed }) => !hasFailed);
    const made = isMade ? [] : [{ ...byHand, hasFailed: false, isDismissed: false }];
    this.facts = { ...this.facts, status: 'succeeded', made: [...this.facts.made, ...made] };
    return this;
  }

  dismiss(): this {
    const made = this.facts.made.map((one) => ({ ...one, isDismissed: true }));
    this.facts = { ...this.facts, made };
    this.isListed = false;
    return this;
  }

  retry(): this {
    this.facts = { ...this.facts, status: 'failed' };
    this.#sendAnew();
    return this;
  }

  get all() {
    const { status, attempt } = this.facts;
    return { status, attempt, isListed: this.isListed, alerts: this.alerts };
  }

  #settle(told: Told): void {
    const judged = judgeTargetRefund(this.facts, told.attempt, answerOf(told));
    const { to, alert, made, isMadeTwice, isFirstTold } = judged;
    const status = to === 'unchanged' ? this.facts.status : to;
    const isNew = to !== 'unchanged' && told.attempt === this.facts.attempt;
    const providerRefundId = (isNew && told.id) || this.facts.providerRefundId;
    this.facts = { ...this.facts, status, providerRefundId, made };
    this.isListed = isMadeTwice;
    if (isFirstTold) this.alerts.push('refund_made_twice');
    if (alert !== undefined) this.alerts.push(alert);
    if (this.isSentAnew && this.facts.status === 'failed') this.#sendAnew();
  }

  #sendAnew(): void {
    const attempt = this.facts.attempt + 1;
    this.sent.push(attempt);
    this.facts = { ...this.facts, status: 'requested', attempt, providerRefundId: null };
  }
}

function ordersOf<T>(all: readonly T[]): T[][] {
  if (all.length === 0) return [[]];
  return all.flatMap((one, n) =>
    ordersOf([...all.slice(0, n), ...all.slice(n + 1)]).map((rest) => [one, ...rest]),
  );
}

/** The last word counts; but of an attempt that is the current one a failure is the last. */
function standsAsMade(told: readonly { one: Told; wasCurrent: boolean }[], attempt: number) {
  const about = told.filter(({ one }) => one.attempt === attempt);
  let stands = false;
  let hasFailed = false;
  for (const { one, wasCurrent } of about) {
    if (one.state === 'FAILED') {
      hasFailed = true;
      stands = false;
    } else if (!hasFailed || !wasCurrent) stands = true;
  }
  return stands;
}

const ORDERS = ordersOf([fails(1), succeeds(1), succeeds(2), fails(2)]);
const named = (order: readonly Told[]) =>
  order.map(({ attempt, state }) => `${attempt} ${state.toLowerCase()}`).join(', ');

describe('judgeTargetRefund', () => {
  describe.each([true, false])(
    'of two attempts, what failed sent anew at once: %s',
    (isSentAnew) => {
      it.each(ORDERS.map((order) => [named(order), order] as const))('%s', (_name, order) => {
        const refund = new Refund().tell(fails(1));
        refund.isSentAnew = isSentAnew;
        const told: { one: Told; wasCurrent: boolean }[] = [];
        for (const one of order) {
          told.push({ one, wasCurrent: one.attempt === refund.facts.attempt });
          const sentBefore = refund.sent.length;
          refund.tell(one);
          const standing = [1, 2].filter((attempt) => standsAsMade(told, attempt)).length;
          expect(refund.isListed).toBe(standing === 2);
          if (standing > 0) {
            expect(refund.sent).toHaveLength(sentBefore);
            expect(refund.facts.status).not.toBe('failed');
          }
          if (refund.facts.status === 'succeeded') expect(standing).toBeGreaterThan(0);
        }
        const twice = refund.alerts.filter((what) => what === 'refund_made_twice').length;
        expect(twice).toBeLessThanOrEqual(1);
      });
    },
  );

  it.each([
    ['the old one first', [succeeds(1), succeeds(2)]],
    ['the new one first', [succeeds(2), succeeds(1)]],
  ])('lists two attempts that were made, and tells of them once: %s', (_name, order) => {
    const refund = new Refund().tell(fails(1), ...order, ...order);
    expect(refund.all).toMatchObject({ status: 'succeeded', isListed: true });
    expect(refund.alerts.filter((what) => what === 'refund_made_twice')).toHaveLength(1);
  });

  it('ends what was under way as its provider says, by the id that it had meanwhile', () => {
    const refund = new Refund().tell(pends(1));
    expect(refund.all).toMatchObject({ status: 'pending', attempt: 1 });
    refund.tell(succeeds(1));
    expect(refund.all).toMatchObject({ status: 'succeeded', attempt: 1 });
    const another = new Refund().tell(pends(1), fails(1), pends(2), succeeds(2));
    expect(another.all).toMatchObject({ status: 'succeeded', attempt: 2, isListed: false });
  });

  it('takes it for done by the other when the current attempt fails afterwards', () => {
    const refund = new Refund().tell(fails(1), succeeds(2), succeeds(1), fails(2), fails(2));
    expect(refund.all).toEqual({
      status: 'succeeded',
      attempt: 2,
      isListed: false,
      alerts: ['refund_made_twice', 'refund_failed_afterwards'],
    });
    refund.tell(succeeds(2), fails(1));
    expect(refund.all).toMatchObject({ status: 'needs_attention', attempt: 2 });
  });

  it('sends anew what has failed afterwards where no other stands', () => {
    const refund = new Refund().tell(succeeds(1), fails(1), succeeds(1));
    expect(refund.all).toMatchObject({ status: 'requested', attempt: 2 });
  });

  it('sends nothing more when what an operator sent beside another that is said to be made fails', () => {
    const refund = new Refund().tell(fails(1), succeeds(1)).retry().tell(fails(3));
    expect(refund.all).toMatchObject({ status: 'needs_attention', attempt: 3 });
  });

  it('knows the same refund under two keys for one', () => {
    const refund = new Refund().tell(fails(1, 're'), succeeds(2, 're'), succeeds(1, 're'));
    expect(refund.all).toMatchObject({ status: 'succeeded', isListed: false, alerts: [] });
    refund.tell(fails(2, 're'));
    expect(refund.all).toMatchObject({ status: 'requested', attempt: 3 });
  });

  it('knows an attempt that is told of without an id, and then with it, for one', () => {
    const refund = new Refund().byHand().tell(succeeds(1, ''), succeeds(1), succeeds(1, ''));
    expect(refund.all).toMatchObject({ isListed: true, alerts: ['refund_made_twice'] });
    expect(refund.facts.made.map(({ providerRefundId }) => providerRefundId)).toEqual([
      null,
      're-1',
    ]);
  });

  it('forgets what was made beside a refund by hand once that has failed', () => {
    const refund = new Refund().byHand().tell(succeeds(1));
    expect(refund.isListed).toBe(true);
    refund.tell(fails(1), succeeds(1));
    expect(refund.all).toMatchObject({ status: 'succeeded', isListed: false });
  });

  it('hears nothing new in what is dismissed, and lists what is made besides', () => {
    const refund = new Refund().tell(fails(1)).byHand().tell(succeeds(1)).dismiss();
    refund.tell(succeeds(1));
    expect(refund.all).toMatchObject({ isListed: false, alerts: ['refund_made_twice'] });
    refund.tell(succeeds(2));
    expect(refund.isListed).toBe(true);
    refund.dismiss().tell(succeeds(1), succeeds(2), succeeds(1, ''));
    expect(refund.isListed).toBe(false);
    expect(refund.alerts).toEqual(['refund_made_twice', 'refund_made_twice']);
  });

  it('leaves to a person what fails after it was dismissed: one may have been fetched back', () => {
    const refund = new Refund().tell(fails(1), succeeds(2), succeeds(1)).dismiss().tell(fails(2));
    expect(refund.all).toMatchObject({ status: 'needs_attention', attempt: 2, isListed: false });
  });

  it.each(['requested', 'pending'] as const)(
    'leaves to a person what is %s and fails while another attempt stands as made',
    (status) => {
      const made = { attempt: 1, providerRefundId: 're-1', hasFailed: false, isDismissed: false };
      const facts = { status, attempt: 2, providerRefundId: 're-2', made: [made] };
      expect(judgeTargetRefund(facts, 2, answerOf(fails(2)))).toMatchObject({
        to: 'needs_attention',
        alert: 'refund_contradiction',
      });
    },
  );

  it('takes the word "done" about an attempt that stands as made for that attempt', () => {
    const refund = new Refund().tell(fails(1), succeeds(1)).byHand().tell(succeeds(1));
    expect(refund.all).toMatchObject({ status: 'succeeded', isListed: false });
    refund.tell(succeeds(2));
    expect(refund.isListed).toBe(true);
  });
});
