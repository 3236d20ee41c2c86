import type Stripe from 'stripe';
import type { CreateAnswer, PaymentRef, ProviderAnswer } from '../payment-provider';
import {
  failureOf,
  isMissing,
  isRefused,
  isReplayed,
  isStoredFailure,
  unknown,
} from './stripe-errors';
import { MONEY } from './stripe-names';
import { type SessionRequest, sessionEndsAt } from './stripe-request';
import { type Session, stateOf } from './stripe-session';

/** Tries after the first one. */
export const RETRIES = 1;
/** Stripe forgets idempotency keys after a day at the earliest; an hour is for clocks that differ. */
const KEY_LIFE_S = 23 * 3_600;
const CLOCK_SKEW_S = 300;

/** The Checkout Sessions of payments: made once each, found again, and ended. */
export class StripeSessions {
  constructor(
    private readonly stripe: Stripe,
    /** Where the buyer goes whose session has no page. */
    private readonly returnUrl: string,
  ) {}

  /**
   * Twice at most, so that a blip fails no customer, and not by the SDK: it would also wait for the
   * same answer when Stripe says that this is the one it keeps.
   */
  async create(
    paymentId: string,
    request: SessionRequest,
  ): Promise<{ answer: CreateAnswer; isReplayed?: boolean; error?: unknown }> {
    for (let attempt = 0; ; attempt++) {
      try {
        const session = await this.stripe.checkout.sessions.create(
          { ...request.params },
          { idempotencyKey: paymentId, maxNetworkRetries: 0 },
        );
        const checkoutUrl = session.url ?? request.params.success_url ?? this.returnUrl;
        return {
          answer: { state: 'CREATED', providerPaymentId: session.id, checkoutUrl },
          isReplayed: isReplayed(session.lastResponse.headers),
        };
      } catch (error) {
        const failure = failureOf(error);
        const isOver = failure.state !== 'UNKNOWN' || attempt === RETRIES;
        if (isOver || isStoredFailure(error)) return { answer: failure, error };
      }
    }
  }

  /** The session of a payment; one whose id never reached us by repeating the call that makes it. */
  async identify({
    paymentId,
    providerPaymentId,
    request,
  }: PaymentRef): Promise<{ id: string } | ProviderAnswer> {
    if (providerPaymentId) return { id: providerPaymentId };
    if (!request) return { state: 'NOT_FOUND' };
    const planned = request as SessionRequest;
    const nowS = Date.now() / 1_000;
    // Nobody was shown its page, and if there was a session it has ended by itself.
    if (nowS - planned.plannedAt > KEY_LIFE_S) return { state: 'NOT_FOUND' };
    const { answer, isReplayed, error } = await this.create(paymentId, planned);
    switch (answer.state) {
      case 'CREATED':
        // Made by us just now, for nobody.
        if (!isReplayed) return this.expire(answer.providerPaymentId);
        return { id: answer.providerPaymentId };
      case 'REFUSED':
        return { state: 'NEVER_MADE', why: answer.why };
      default: {
        const hasEnded = nowS > sessionEndsAt(planned) + CLOCK_SKEW_S;
        if (hasEnded && isStoredFailure(error)) return { state: 'NOT_FOUND' };
        return { state: 'UNKNOWN', why: answer.why };
      }
    }
  }

  /** A payment intent of Checkout has one session. */
  async ofIntent(payment_intent: string): Promise<Session | undefined> {
    const { data } = await this.stripe.checkout.sessions.list({ payment_intent });
    return data[0];
  }

  async expire(id: string): Promise<ProviderAnswer> {
    const { sessions } = this.stripe.checkout;
    try {
      return stateOf(await sessions.expire(id, { expand: [MONEY] }));
    } catch (error) {
      if (!isRefused(error)) return unknown(error);
    }
    // Only an open session can be expired; one that was paid or has expired is a normal answer.
    try {
      return stateOf(await sessions.retrieve(id, { expand: [MONEY] }));
    } catch (error) {
      return isMissing(error) ? { state: 'NOT_FOUND' } : unknown(error);
    }
  }
}
