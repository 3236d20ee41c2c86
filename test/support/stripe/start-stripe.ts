import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import Stripe from 'stripe';
import type { PayOptions, StripeEvent } from './stripe-account';
import type { StripeDispute, StripeEndpoint, StripeRefund, StripeSession } from './stripe-objects';

export const STRIPE_WEBHOOK_SECRET = 'whsec_test_secret_of_the_local_server';

export interface StripeState {
  readonly sessions: readonly StripeSession[];
  readonly refunds: readonly StripeRefund[];
  readonly events: readonly StripeEvent[];
  /** As in `POST /v1/refunds`. */
  readonly calls: readonly string[];
}

/** The stand-in's process, and the hands of those on its other side. */
export interface StripeStandIn {
  readonly url: string;
  /** Null when the page does not let the buyer pay so. */
  pay(id: string, options?: PayOptions): Promise<StripeSession | null>;
  settlePayment(id: string, succeeded: boolean): Promise<unknown>;
  refundInDashboard(id: string, amount: number): Promise<StripeRefund>;
  dispute(id: string): Promise<StripeDispute>;
  /** One that is won has brought nothing back yet. */
  settleDispute(id: string, won: boolean): Promise<unknown>;
  reinstate(id: string, amount: number): Promise<unknown>;
  failRefunds(fail: boolean): Promise<unknown>;
  /** One that had succeeded. */
  failRefundLater(id: string): Promise<unknown>;
  /** Everything was made so many seconds earlier. */
  age(seconds: number): Promise<unknown>;
  postEventsTo(url: string): Promise<unknown>;
  register(endpoint: StripeEndpoint): Promise<unknown>;
  /** The answers to the next POSTs, which are carried out, never arrive. */
  lose(count: number): Promise<unknown>;
  /** Answers to GETs take so long from now on. */
  slowDown(ms: number): Promise<unknown>;
  /** The next POSTs are carried out and answered with 500, which is kept for their key. */
  fail(count: number): Promise<unknown>;
  hold(key: string, held: boolean): Promise<unknown>;
  forgetKeys(): Promise<unknown>;
  /** So many sessions of others. */
  populate(count: number): Promise<unknown>;
  state(): Promise<StripeState>;
  stop(): Promise<void>;
}

/** While two secrets are live, every event is signed with both. */
export async function startStripe(
  secrets: readonly string[] = ['whsec_of_another_time', STRIPE_WEBHOOK_SECRET],
): Promise<StripeStandIn> {
  const child = fork(join(__dirname, 'stripe-main.ts'), {
    execArgv: ['-r', join(__dirname, '..', 'swc-register.cjs'), '--no-warnings'],
    env: {
      PATH: process.env.PATH,
      STRIPE_SECRETS: secrets.join(','),
      STRIPE_EVENT_VERSION: Stripe.API_VERSION,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [said] = (await once(child, 'message')) as [{ url: string }];
  const { url } = said;
  const use = async <Result>(hand: string, given: object = {}): Promise<Result> => {
    const answer = await fetch(`${url}/hands/${hand}`, {
      method: 'POST',
      body: JSON.stringify(given),
    });
    if (!answer.ok) throw new Error(`The stand-in for Stripe could not ${hand}`);
    return (await answer.json()) as Result;
  };
  return {
    url,
    pay: (id, options = {}) => use('pay', { id, ...options }),
    settlePayment: (id, succeeded) => use('settlePayment', { id, succeeded }),
    refundInDashboard: (id, amount) => use('refundInDashboard', { id, amount }),
    dispute: (id) => use('dispute', { id }),
    settleDispute: (id, won) => use('settleDispute', { id, won }),
    reinstate: (id, amount) => use('reinstate', { id, amount }),
    failRefundLater: (id) => use('failRefundLater', { id }),
    age: (seconds) => use('age', { seconds }),
    failRefunds: (fail) => use('failRefunds', { fail }),
    postEventsTo: (target) => use('postEventsTo', { url: target }),
    register: (endpoint) => use('register', endpoint),
    lose: (count) => use('lose', { count }),
    slowDown: (ms) => use('slowDown', { ms }),
    fail: (count) => use('fail', { count }),
    hold: (key, held) => use('hold', { key, held }),
    forgetKeys: () => use('forgetKeys'),
    populate: (count) => use('populate', { count }),
    state: () => use('state'),
    stop: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
