import { randomUUID } from 'node:crypto';
import { uuidv7 } from '../order/uuid';
import type {
  CreatedPayment,
  LedgerPage,
  LedgerPayment,
  NewPayment,
  PaymentProvider,
  PaymentRef,
  PaymentRequest,
  RefundAnswer,
} from './payment-provider';

/** A webhook as the provider posts it. */
export interface SentWebhook {
  readonly type: string;
  readonly rawBody: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** A provider, and the hands of those on its other side. */
export interface ProviderUnderTest {
  readonly provider: PaymentProvider;
  /** The same kind of provider, where nobody answers. */
  readonly unreachable: PaymentProvider;
  /** The buyer pays what was asked, or another amount. */
  buyerPays(providerPaymentId: string): Promise<void>;
  /** Refunds made from now on fail when the bank looks at them, or no longer do. */
  failRefunds(fail: boolean): Promise<void>;
  /** Resolves with the next webhook for which `matches`, in the provider's own words. */
  webhook(matches: (body: string) => boolean): Promise<SentWebhook>;
  close(): Promise<void>;
}

const AMOUNT = 1_999;
type Planned = PaymentRef & { readonly request: PaymentRequest };

/** What the contract uses of Jest, Vitest, or whatever else speaks as they do. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => Promise<void> | void) => void;
  readonly beforeAll: (body: () => Promise<void>) => void;
  readonly afterAll: (body: () => Promise<void> | undefined) => void;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each has types of its own for what it says of a value
  readonly expect: any;
}

/** What every payment provider does; run it over each (docs/providers.md). Of a test framework with globals the last argument is not needed. */
export function describeProvider(
  name: string,
  setUp: () => Promise<ProviderUnderTest>,
  framework: TestFramework = globalThis as unknown as TestFramework,
): void {
  const { describe, it, beforeAll, afterAll } = framework;
  const expect = framework.expect as jest.Expect;
  describe(`${name} as a payment provider`, () => {
    let hands: ProviderUnderTest;
    let provider: PaymentProvider;
    beforeAll(async () => {
      hands = await setUp();
      provider = hands.provider;
    });
    afterAll(() => hands?.close());

    const open = async (): Promise<NewPayment & { providerPaymentId: string }> => {
      const ref = newRef();
      const { providerPaymentId } = await create(ref);
      return { ...ref, providerPaymentId };
    };
    const create = async (ref: NewPayment): Promise<CreatedPayment> => {
      const answer = await provider.createPayment(planned(provider, ref));
      if (answer.state === 'CREATED') return answer;
      throw new Error(`The payment was not opened: ${answer.why}`);
    };
    const paid = async (): Promise<NewPayment & { providerPaymentId: string }> => {
      const ref = await open();
      await hands.buyerPays(ref.providerPaymentId);
      return ref;
    };
    const refundOf = ({ paymentId, providerPaymentId }: PaymentRef, key: string = uuidv7()) =>
      provider.refund({
        paymentId,
        providerPaymentId: providerPaymentId as string,
        amount: AMOUNT,
        currency: 'EUR',
        idempotencyKey: key,
      });
    const settled = async (answer: RefundAnswer): Promise<RefundAnswer> => {
      for (let i = 0; i < 2_000 && answer.state === 'PENDING'; i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        answer = await provider.findRefund(answer.providerRefundId);
      }
      return answer;
    };

    it('opens a payment that is unpaid, with a page to pay it on', async () => {
      const ref = newRef();
      const created = await create(ref);
      expect(new URL(created.checkoutUrl).protocol).toMatch(/^https?:$/);
      expect(await provider.findPayment({ ...ref, ...created })).toEqual({
        state: 'UNPAID',
        providerPaymentId: created.providerPaymentId,
      });
    });

    it('opens one payment, however often it is asked to', async () => {
      const ref = newRef();
      const [first, second] = [await create(ref), await create(ref)];
      expect(second.providerPaymentId).toBe(first.providerPaymentId);
    });

    it('finds and ends a payment by our id alone, when the answer to the call was lost', async () => {
      const ref = planned(provider, newRef());
      await provider.createPayment(ref);
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'UNPAID' });
      expect(await provider.closePayment(ref)).toMatchObject({ state: 'CLOSED_UNPAID' });
    });

    it('leaves nothing open of a payment whose create call never arrived', async () => {
      const ref = planned(provider, newRef());
      expect((await provider.findPayment(ref)).state).toMatch(/^(NOT_FOUND|CLOSED_UNPAID)$/);
      expect((await provider.closePayment(ref)).state).toMatch(/^(NOT_FOUND|CLOSED_UNPAID)$/);
      expect((await provider.findPayment(ref)).state).toMatch(/^(NOT_FOUND|CLOSED_UNPAID)$/);
    });

    it('plans nothing in a currency that has no number of decimals', () => {
      expect(provider.takes('EUR')).toBe(true);
      expect(provider.takes('XTS')).toBe(false);
      expect(codeOf(() => provider.planPayment({ ...newRef(), currency: 'XTS' }))).toBe(
        'currency_not_supported',
      );
    });

    it('says of a payment that was never made that it is not found', async () => {
      expect(await provider.findPayment(newRef())).toEqual({ state: 'NOT_FOUND' });
      expect(await provider.closePayment(newRef())).toEqual({ state: 'NOT_FOUND' });
    });

    it('gives an open payment more time, or says why not; a paid one stays as it is', async () => {
      const wanted = newRef();
      const { providerPaymentId } = await create(wanted);
      const ref = { ...planned(provider, wanted), providerPaymentId };
      const expiresAt = new Date(ref.expiresAt.getTime() + 60_000);
      const extend = async (by: PaymentProvider) =>
        (await by.extendPayment?.(ref, { payBy: expiresAt, expiresAt })) ?? { state: 'REFUSED' };
      for (const _ of ['once', 'and again']) {
        expect(['EXTENDED', 'REFUSED']).toContain((await extend(provider)).state);
      }
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'UNPAID' });
      await hands.buyerPays(providerPaymentId);
      await extend(provider);
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'PAID' });
    });

    it('tells of the money, to the cent, and when it was paid', async () => {
      const ref = await paid();
      const answer = await provider.findPayment(ref);
      expect(answer).toMatchObject({
        state: 'PAID',
        providerPaymentId: ref.providerPaymentId,
        money: { amount: AMOUNT, currency: 'EUR' },
      });
      const paidAt = answer.state === 'PAID' ? answer.money.paidAt.getTime() : 0;
      expect(Math.abs(paidAt - Date.now())).toBeLessThan(60_000);
    });

    it('ends a payment for good, and says so again', async () => {
      const ref = await open();
      expect(await provider.closePayment(ref)).toMatchObject({ state: 'CLOSED_UNPAID' });
      expect(await provider.closePayment(ref)).toMatchObject({ state: 'CLOSED_UNPAID' });
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'CLOSED_UNPAID' });
    });

    it('answers a close that comes too late with the money', async () => {
      expect(await provider.closePayment(await paid())).toMatchObject({
        state: 'PAID',
        money: { amount: AMOUNT },
      });
    });

    it('gives money back once for one key', async () => {
      const ref = await paid();
      const key = uuidv7();
      const [first, second] = [await refundOf(ref, key), await refundOf(ref, key)];
      expect(await settled(first)).toMatchObject({ state: 'SUCCEEDED' });
      expect(await settled(second)).toEqual(await settled(first));
      expect(await provider.findPayment(ref)).toMatchObject({ state: 'REFUNDED' });
      expect((await ledgerOf(ref))?.refunds).toHaveLength(1);
    });

    it('refuses to give back more than was taken', async () => {
      const ref = await paid();
      await settled(await refundOf(ref));
      expect(await refundOf(ref)).toMatchObject({ state: 'FAILED', providerRefundId: null });
    });

    it('tells of a refund that fails later; another attempt has another key', async () => {
      const ref = await paid();
      await hands.failRefunds(true);
      const failed = await settled(await refundOf(ref));
      expect(failed).toMatchObject({ state: 'FAILED' });
      expect(failed).toHaveProperty('why', expect.stringMatching(/.+/));
      await hands.failRefunds(false);
      expect(await settled(await refundOf(ref))).toMatchObject({ state: 'SUCCEEDED' });
    });

    it('does not take a refund it cannot find for one that failed', async () => {
      expect(await provider.findRefund('re_nothing')).toMatchObject({ state: 'UNKNOWN' });
    });

    it('reads its own webhooks: money, and refunds with our key', async () => {
      const ref = await paid();
      const success = await hands.webhook((body) => body.includes(ref.providerPaymentId));
      const notice = await provider.readWebhook(success.rawBody, success.headers, new Date());
      expect(notice).toMatchObject({
        type: 'payment.succeeded',
        paymentId: ref.paymentId,
        providerPaymentId: ref.providerPaymentId,
        money: { amount: AMOUNT, currency: 'EUR' },
      });
      expect(notice.eventId).toMatch(/.+/);
      expect(notice).toHaveProperty('money.paidAt', expect.any(Date));
      const key = uuidv7();
      await refundOf(ref, key);
      const refunded = await hands.webhook((body) => body.includes(key) && /succeeded/.test(body));
      expect(
        await provider.readWebhook(refunded.rawBody, refunded.headers, new Date()),
      ).toMatchObject({
        type: 'refund.succeeded',
        paymentId: ref.paymentId,
        idempotencyKey: key,
        amount: AMOUNT,
      });
    });

    it('refuses webhooks that are forged or old', async () => {
      const ref = await paid();
      const { rawBody, headers } = await hands.webhook((body) =>
        body.includes(ref.providerPaymentId),
      );
      const forged = Buffer.from(rawBody.toString().replace(String(AMOUNT), String(AMOUNT * 10)));
      expect(codeOf(() => provider.readWebhook(forged, headers, new Date()))).toBe('bad_signature');
      expect(codeOf(() => provider.readWebhook(rawBody, {}, new Date()))).toBe('bad_signature');
      const later = new Date(Date.now() + 600_000);
      expect(codeOf(() => provider.readWebhook(rawBody, headers, later))).toBe('stale_timestamp');
    });

    it('streams its ledger, with the refunds of each payment', async () => {
      const [unpaidRef, paidRef] = [await open(), await paid()];
      const key = uuidv7();
      await settled(await refundOf(paidRef, key));
      expect(await ledgerOf(unpaidRef)).toMatchObject({ captured: null, refunds: [] });
      expect(await ledgerOf(paidRef)).toMatchObject({
        providerPaymentId: paidRef.providerPaymentId,
        captured: { amount: AMOUNT, currency: 'EUR' },
        refunds: [{ idempotencyKey: key, amount: AMOUNT, state: 'SUCCEEDED' }],
      });
    });

    it('knows nothing when nobody answers, and says so', async () => {
      const ref = { ...newRef(), providerPaymentId: `pay_${randomUUID()}` };
      const { unreachable } = hands;
      expect(await unreachable.findPayment(ref)).toMatchObject({ state: 'UNKNOWN' });
      expect(await unreachable.closePayment(ref)).toMatchObject({ state: 'UNKNOWN' });
      const lost = planned(unreachable, newRef());
      expect(await unreachable.findPayment(lost)).toMatchObject({ state: 'UNKNOWN' });
      expect(await unreachable.closePayment(lost)).toMatchObject({ state: 'UNKNOWN' });
      expect(await unreachable.findRefund('re_1')).toMatchObject({ state: 'UNKNOWN' });
      const request = { ...ref, idempotencyKey: uuidv7() };
      expect(await unreachable.refund(request)).toMatchObject({ state: 'UNKNOWN' });
      const neverSeen = planned(unreachable, newRef());
      expect(await unreachable.createPayment(neverSeen)).toMatchObject({ state: 'UNKNOWN' });
      const read = unreachable.ledger(new Date(), null)[Symbol.asyncIterator]().next();
      await expect(read).rejects.toMatchObject({ code: 'provider_error' });
    });

    it('goes on with its ledger behind any page', async () => {
      await open();
      const [since, pages] = [new Date(Date.now() - 60_000), [] as LedgerPage[]];
      for await (const page of provider.ledger(since, null)) pages.push(page);
      expect(pages.at(-1)?.next).toBeNull();
      for (const [n, { next }] of pages.entries()) {
        if (next === null) continue;
        const rest: LedgerPage[] = [];
        for await (const page of provider.ledger(since, next)) rest.push(page);
        expect(rest).toEqual(pages.slice(n + 1));
      }
    });

    const ledgerOf = async (ref: PaymentRef): Promise<LedgerPayment | undefined> => {
      const since = new Date(Date.now() - 60_000);
      for await (const { payments } of provider.ledger(since, null)) {
        const found = payments.find(({ paymentId }) => paymentId === ref.paymentId);
        if (found) return found;
      }
      return undefined;
    };
  });
}

/** The code with which it refuses, or what it answers. */
function codeOf(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

/** As it is stored and read again, before it is sent. */
function planned(provider: PaymentProvider, ref: NewPayment): Planned {
  const request = JSON.parse(JSON.stringify(provider.planPayment(ref))) as PaymentRequest;
  return { ...ref, providerPaymentId: null, request };
}

function newRef(): NewPayment & PaymentRef {
  return {
    paymentId: uuidv7(),
    providerPaymentId: null,
    amount: AMOUNT,
    currency: 'EUR',
    expiresAt: new Date(Date.now() + 60_000),
    now: new Date(),
  };
}
