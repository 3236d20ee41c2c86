import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { StripeAccount } from './stripe-account';
import { StripeApi } from './stripe-api';
import { nowS, type StripeEndpoint, type StripeSession } from './stripe-objects';

/*
 * The stand-in for Stripe, as its own process: its API, and under /hands what buyers, banks,
 * operators and bad networks do. STRIPE_SECRETS are the signing secrets, with commas between.
 */

const { STRIPE_SECRETS = '', STRIPE_EVENT_VERSION = '' } = process.env;
const account = new StripeAccount(STRIPE_SECRETS.split(','), STRIPE_EVENT_VERSION);
const api = new StripeApi(account);
/** Calls that are carried out and whose answers never arrive. */
let losses = 0;
/** How long answers to GETs are under way. */
let slownessMs = 0;

type Hand = (given: Record<string, unknown>) => unknown;

const HANDS: Readonly<Record<string, Hand>> = {
  pay: ({ id, ...options }) => account.pay(id as string, options) ?? null,
  settlePayment: ({ id, succeeded }) => account.settlePayment(id as string, succeeded === true),
  refundInDashboard: ({ id, amount }) => account.refundInDashboard(id as string, amount as number),
  dispute: ({ id }) => account.dispute(id as string),
  settleDispute: ({ id, won }) => account.settleDispute(id as string, won === true),
  reinstate: ({ id, amount }) => account.reinstate(id as string, amount as number),
  failRefundLater: ({ id }) => account.failRefundLater(id as string),
  age: ({ seconds }) => account.age(seconds as number),
  failRefunds: ({ fail }) => void (account.failRefunds = fail === true),
  postEventsTo: ({ url }) => void (account.endpointUrl = url as string),
  register: (endpoint) => void account.endpoints.push(endpoint as unknown as StripeEndpoint),
  lose: ({ count }) => void (losses = count as number),
  slowDown: ({ ms }) => void (slownessMs = ms as number),
  fail: ({ count }) => void (api.failures = count as number),
  hold: ({ key, held }) => api.hold(key as string, held === true),
  forgetKeys: () => api.forgetKeys(),
  populate: ({ count }) => populate(count as number),
  state: () => ({
    sessions: [...account.sessions.values()].filter(({ id }) => id.startsWith('cs_test_')),
    refunds: account.refunds,
    events: account.events,
    calls: api.calls,
  }),
};

/** Other people's sessions of the last minutes, as a busy account has them. */
function populate(count: number): void {
  for (let i = 0; i < count; i++) {
    const session: StripeSession = {
      id: `cs_other_${i}`,
      object: 'checkout.session',
      amount_total: 1_000,
      client_reference_id: null,
      created: nowS(),
      currency: 'eur',
      excluded_payment_method_types: [],
      expires_at: nowS() + 3_600,
      livemode: false,
      metadata: {},
      payment_intent: null,
      payment_status: 'unpaid',
      status: 'open',
      url: null,
    };
    account.sessions.set(session.id, session);
  }
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://stripe.test');
  const body = await readBody(request);
  const hand = /^\/hands\/(\w+)$/.exec(url.pathname)?.[1];
  if (hand) {
    const result = HANDS[hand]?.(JSON.parse(body || '{}') as Record<string, unknown>);
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify(result ?? null));
  }
  const answer = api.answer({
    route: `${request.method} ${url.pathname}`,
    headers: request.headers,
    query: url.searchParams,
    form: new URLSearchParams(body),
  });
  if (request.method === 'POST' && losses > 0) {
    losses -= 1;
    return void request.socket.destroy();
  }
  if (request.method === 'GET') await delay(slownessMs);
  response.writeHead(answer.status, {
    'content-type': 'application/json',
    'request-id': `req_${randomUUID()}`,
    'stripe-version': request.headers['stripe-version'] ?? '',
    ...(answer.isReplayed ? { 'idempotent-replayed': 'true' } : {}),
  });
  response.end(JSON.stringify(answer.body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error);
    response.writeHead(599).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}` });
});
// Whoever started it is gone.
process.on('disconnect', () => process.exit(0));
