import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { uuidv7 } from '../../libs/orders/src/order/uuid';
import type { PaymentRequest } from '../../libs/orders/src/providers/payment-provider';
import { StripeProvider } from '../../libs/orders/src/providers/stripe/stripe.provider';
import { freePort } from '../../scripts/services/index.mjs';
import {
  startStripe,
  type StripeStandIn,
  STRIPE_WEBHOOK_SECRET,
} from '../support/stripe/start-stripe';
import { until } from '../support/until';
import type { Engine } from './engine';
import { startWitness, type Witness } from './witness';

/** Stripe's own, from its OpenAPI description; it is built by Go, whose checksums guard it. */
const MODULE = 'github.com/stripe/stripe-mock';
const VERSION = 'v0.203.0';
const FOLDER = join(__dirname, '../../node_modules/.cache/stripe-mock', VERSION);
const PROGRAM = join(FOLDER, process.platform === 'win32' ? 'stripe-mock.exe' : 'stripe-mock');
const START_LIMIT_MS = 90_000;

/** Every call that the adapter makes: so many kinds of them have to have been seen. */
const ROUTES = [
  'POST /v1/checkout/sessions',
  'GET /v1/checkout/sessions',
  'GET /v1/checkout/sessions/:id',
  'POST /v1/checkout/sessions/:id/expire',
  'POST /v1/refunds',
  'GET /v1/refunds',
  'GET /v1/refunds/:id',
  'GET /v1/disputes',
  'GET /v1/webhook_endpoints',
];

/** Judges every request of the Stripe adapter, each of which our own stand-in answers. */
export const stripeMock: Engine = {
  name: 'stripe-mock',
  judges: "the requests of the Stripe adapter, by Stripe's OpenAPI description",

  missing() {
    if (existsSync(PROGRAM)) return undefined;
    const { status } = spawnSync('go', ['version']);
    return status === 0
      ? undefined
      : 'the tool `go` is not on the PATH; install Go (go.dev/doc/install) and run it again';
  },

  async judge() {
    build();
    const port = await freePort();
    // Without an address of its own its HTTPS listens to everybody.
    const args = ['-http-addr', `127.0.0.1:${port}`, '-https-addr', '127.0.0.1:'];
    const program = spawn(PROGRAM, args, { stdio: 'ignore' });
    let stripe: StripeStandIn | undefined;
    let witness: Witness | undefined;
    try {
      const judge = `http://127.0.0.1:${port}`;
      await answers(judge);
      stripe = await startStripe();
      witness = await startWitness(stripe.url, judge);
      await useEverything(witness.url, stripe);
      return report(witness);
    } finally {
      await witness?.stop();
      await stripe?.stop();
      await end(program);
    }
  },
};

function build(): void {
  if (existsSync(PROGRAM)) return;
  mkdirSync(FOLDER, { recursive: true });
  const { status, stderr } = spawnSync('go', ['install', `${MODULE}@${VERSION}`], {
    env: { ...process.env, GOBIN: FOLDER },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`it could not be built: ${stderr.trim()}`);
}

async function useEverything(apiUrl: string, stripe: StripeStandIn): Promise<void> {
  const provider = new StripeProvider({
    secretKey: 'sk_test_judged',
    webhookSecret: STRIPE_WEBHOOK_SECRET,
    apiUrl,
    returnUrl: 'https://shop.test/thanks',
    installation: uuidv7(),
  });
  const open = async (currency: string, amount: number, windowMs: number) => {
    const now = new Date();
    const expiresAt = new Date(now.getTime() + windowMs);
    const lines = [
      { name: 'Sencha, 100 g', quantity: 3, unitPrice: Math.floor(amount / 4) },
      { name: 'Shipping', quantity: 1, unitPrice: amount - 3 * Math.floor(amount / 4) },
    ];
    const returnUrl = 'https://shop.test/checkout?lang=en';
    const checkout = { orderId: uuidv7(), payBy: expiresAt, lines, returnUrl };
    const given = { paymentId: uuidv7(), amount, currency, expiresAt, now, checkout };
    const request = provider.planPayment(given) satisfies PaymentRequest;
    const ref = { ...given, providerPaymentId: null, request };
    const answer = await provider.createPayment(ref);
    if (answer.state !== 'CREATED') throw new Error(`no payment was opened: ${answer.why}`);
    return { ...ref, providerPaymentId: answer.providerPaymentId };
  };
  const paid = await open('EUR', 1_999, 600_000);
  await stripe.pay(paid.providerPaymentId);
  await provider.findPayment(paid);
  await provider.closePayment(paid);
  const refund = await provider.refund({ ...paid, idempotencyKey: uuidv7() });
  if (refund.state === 'UNKNOWN' || !refund.providerRefundId) throw new Error('no refund was made');
  await provider.findRefund(refund.providerRefundId);
  await provider.closePayment(await open('KWD', 5_120, 600_000));
  // Longer than a session lives: without an expiry of its own.
  await provider.closePayment(await open('ISK', 500, 14 * 86_400_000));
  for await (const { payments } of provider.ledger(new Date(Date.now() - 60_000), null)) {
    if (payments.some(({ paymentId }) => !paymentId)) {
      throw new Error('a payment of the ledger is nobody’s');
    }
  }
  await provider.examine();
}

function report({ seen, objections }: Witness): string {
  if (objections.length > 0) throw new Error(`it objects to\n  ${objections.join('\n  ')}`);
  const kinds = new Set(seen);
  const unseen = ROUTES.filter((route) => !kinds.has(route));
  if (unseen.length > 0) throw new Error(`it was not shown ${unseen.join(', ')}`);
  return `no objection to ${seen.length} requests of ${kinds.size} kinds`;
}

async function answers(url: string): Promise<void> {
  const isUp = (): Promise<boolean> =>
    fetch(url).then(
      () => true,
      () => false,
    );
  await until('stripe-mock answers', isUp, START_LIMIT_MS);
}

async function end(program: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => program.once('exit', resolve));
  if (program.exitCode !== null || !program.kill('SIGKILL')) return;
  await gone;
}
