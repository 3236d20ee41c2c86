import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * Speaks the endpoints of Stripe's API that our adapter uses, with the shapes of its public
 * reference (docs.stripe.com/api: checkout/sessions, refunds, events, errors, idempotent requests).
 * Fields that the adapter does not read are left out.
 */

interface StripeRefund {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly created: number;
  readonly currency: string;
  readonly metadata: Record<string, string>;
  readonly payment_intent: string;
  status: 'pending' | 'succeeded' | 'failed';
  failure_reason?: string;
}

interface Charge {
  readonly id: string;
  readonly object: 'charge';
  readonly amount_captured: number;
  readonly created: number;
  readonly currency: string;
  refunded: boolean;
  refunds: { object: 'list'; data: StripeRefund[]; has_more: false };
}

interface Session {
  readonly id: string;
  readonly object: 'checkout.session';
  readonly amount_total: number;
  readonly client_reference_id: string | null;
  readonly created: number;
  readonly currency: string;
  readonly expires_at: number;
  readonly metadata: Record<string, string>;
  status: 'open' | 'complete' | 'expired';
  payment_status: 'unpaid' | 'paid';
  payment_intent: string | null;
  url: string | null;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const STRIPE_WEBHOOK_SECRET = 'whsec_test_secret_of_the_local_server';
const MINIMUM_LIFE_S = 30 * 60;
const DAY_S = 86_400;
const nowS = (): number => Math.floor(Date.now() / 1_000);

export class StripeServer {
  readonly sessions = new Map<string, Session>();
  readonly refunds: StripeRefund[] = [];
  /** Events as they would be posted, signed at that moment. */
  readonly events: { type: string; rawBody: Buffer; headers: Record<string, string> }[] = [];
  failRefunds = false;
  /** Where events are posted, when somewhere. */
  endpoint: string | undefined;
  readonly #charges = new Map<string, Charge>();
  readonly #answers = new Map<string, Answer>();
  readonly #server: Server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { status, body: answer } = this.#answer(request, new URLSearchParams(body));
      response.writeHead(status, {
        'content-type': 'application/json',
        'request-id': randomUUID(),
      });
      response.end(JSON.stringify(answer));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The buyer pays on Stripe's page. */
  pay(id: string, amount?: number): void {
    const session = this.sessions.get(id) as Session;
    const intent = `pi_${randomUUID()}`;
    this.#charges.set(intent, {
      id: `ch_${randomUUID()}`,
      object: 'charge',
      amount_captured: amount ?? session.amount_total,
      created: nowS(),
      currency: session.currency,
      refunded: false,
      refunds: { object: 'list', data: [], has_more: false },
    });
    Object.assign(session, {
      status: 'complete',
      payment_status: 'paid',
      payment_intent: intent,
      url: null,
    });
    this.#emit('checkout.session.completed', session);
  }

  #answer(request: IncomingMessage, form: URLSearchParams): Answer {
    if (!/^Bearer sk_test_/.test(request.headers.authorization ?? '')) {
      return problem(401, 'invalid_request_error', 'Invalid API Key provided');
    }
    const key = request.headers['idempotency-key'];
    const known = typeof key === 'string' ? this.#answers.get(key) : undefined;
    if (known) return known;
    const url = new URL(request.url ?? '/', 'http://stripe.test');
    const answer = this.#route(`${request.method} ${url.pathname}`, url.searchParams, form);
    // As the reference says: what failed validation is not remembered.
    if (typeof key === 'string' && answer.status === 200) this.#answers.set(key, answer);
    return answer;
  }

  #route(route: string, query: URLSearchParams, form: URLSearchParams): Answer {
    const [, id = ''] = /^\w+ \/v1\/(?:checkout\/sessions|refunds)\/([^/]+)/.exec(route) ?? [];
    if (route === 'POST /v1/checkout/sessions') return this.#createSession(form);
    if (route === 'GET /v1/checkout/sessions') {
      return list(
        [...this.sessions.values()].map((one) => this.#view(one, query)),
        query,
      );
    }
    if (route === 'POST /v1/refunds') return this.#createRefund(form);
    if (route === 'GET /v1/refunds') {
      const intent = query.get('payment_intent');
      return list(
        this.refunds.filter((refund) => !intent || refund.payment_intent === intent),
        query,
      );
    }
    if (route.startsWith('GET /v1/refunds/')) {
      const refund = this.refunds.find((one) => one.id === id);
      return refund ? { status: 200, body: refund } : missing('refund', id);
    }
    const session = this.sessions.get(id);
    if (!session) return missing('checkout.session', id);
    if (route.endsWith('/expire')) {
      if (session.status !== 'open') {
        return problem(
          400,
          'invalid_request_error',
          `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of ${session.status}.`,
        );
      }
      Object.assign(session, { status: 'expired', url: null });
      this.#emit('checkout.session.expired', session);
      return { status: 200, body: this.#view(session, form) };
    }
    return { status: 200, body: this.#view(session, query) };
  }

  #createSession(form: URLSearchParams): Answer {
    const expiresAt = Number(form.get('expires_at') ?? nowS() + DAY_S);
    if (expiresAt < nowS() + MINIMUM_LIFE_S || expiresAt > nowS() + DAY_S) {
      const message =
        'The `expires_at` timestamp must be between 30 minutes and 24 hours from now.';
      return problem(400, 'invalid_request_error', message);
    }
    const id = `cs_test_${randomUUID().replaceAll('-', '')}`;
    const session: Session = {
      id,
      object: 'checkout.session',
      amount_total: Number(form.get('line_items[0][price_data][unit_amount]')),
      client_reference_id: form.get('client_reference_id'),
      created: nowS(),
      currency: form.get('line_items[0][price_data][currency]') ?? '',
      expires_at: expiresAt,
      metadata: metadataOf(form),
      status: 'open',
      payment_status: 'unpaid',
      payment_intent: null,
      url: `https://checkout.stripe.com/c/pay/${id}`,
    };
    this.sessions.set(id, session);
    return { status: 200, body: { ...session } };
  }

  #createRefund(form: URLSearchParams): Answer {
    const intent = form.get('payment_intent') ?? '';
    const charge = this.#charges.get(intent);
    if (!charge) return missing('payment_intent', intent);
    const amount = Number(form.get('amount'));
    const live = charge.refunds.data.filter(({ status }) => status !== 'failed');
    if (live.reduce((sum, one) => sum + one.amount, 0) + amount > charge.amount_captured) {
      const message = `Charge ${charge.id} has already been refunded.`;
      return problem(400, 'invalid_request_error', message, 'charge_already_refunded');
    }
    const refund: StripeRefund = {
      id: `re_${randomUUID()}`,
      object: 'refund',
      amount,
      created: nowS(),
      currency: charge.currency,
      metadata: metadataOf(form),
      payment_intent: intent,
      status: 'pending',
    };
    this.refunds.push(refund);
    charge.refunds.data.push(refund);
    const body = { ...refund };
    setImmediate(() => this.#settle(refund, charge));
    return { status: 200, body };
  }

  #settle(refund: StripeRefund, charge: Charge): void {
    if (this.failRefunds) {
      Object.assign(refund, { status: 'failed', failure_reason: 'expired_or_canceled_card' });
      return this.#emit('refund.failed', refund);
    }
    refund.status = 'succeeded';
    charge.refunded = true;
    this.#emit('refund.updated', refund);
  }

  #view(session: Session, params: URLSearchParams): object {
    const wanted = [...params].filter(([name]) => name.startsWith('expand')).map(([, v]) => v);
    const charge = this.#charges.get(session.payment_intent ?? '');
    if (!charge || !wanted.some((path) => path.includes('latest_charge'))) return { ...session };
    // Refunds are not part of a charge unless they are asked for.
    const { refunds, ...rest } = charge;
    const latest_charge = wanted.some((path) => path.endsWith('.refunds')) ? charge : rest;
    const id = session.payment_intent;
    const intent = { id, object: 'payment_intent', status: 'succeeded', latest_charge };
    return { ...session, payment_intent: refunds ? intent : id };
  }

  #emit(type: string, object: object): void {
    const event = {
      id: `evt_${randomUUID()}`,
      object: 'event',
      created: nowS(),
      type,
      data: { object: { ...object } },
    };
    const rawBody = Buffer.from(JSON.stringify(event));
    const t = nowS();
    const mac = createHmac('sha256', STRIPE_WEBHOOK_SECRET).update(`${t}.${rawBody.toString()}`);
    const headers = {
      'content-type': 'application/json',
      'stripe-signature': `t=${t},v1=${mac.digest('hex')}`,
    };
    this.events.push({ type, rawBody, headers });
    if (!this.endpoint) return;
    const body = rawBody.toString();
    void fetch(this.endpoint, { method: 'POST', body, headers }).catch(() => undefined);
  }
}

function metadataOf(form: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
      return key ? [[key, value]] : [];
    }),
  );
}

/** Newest first, in pages that are continued after the last one's id. */
function list(all: readonly object[], query: URLSearchParams): Answer {
  const limit = Number(query.get('limit') ?? 10);
  const gte = Number(query.get('created[gte]') ?? 0);
  const lte = Number(query.get('created[lte]') ?? Infinity);
  const rows = [...all].reverse() as { id: string; created: number }[];
  const matching = rows.filter(({ created }) => created >= gte && created <= lte);
  const from = matching.findIndex(({ id }) => id === query.get('starting_after')) + 1;
  const data = matching.slice(from, from + limit);
  const has_more = from + limit < matching.length;
  return { status: 200, body: { object: 'list', url: '/v1/list', has_more, data } };
}

function missing(what: string, id: string): Answer {
  return problem(404, 'invalid_request_error', `No such ${what}: '${id}'`, 'resource_missing');
}

function problem(status: number, type: string, message: string, code?: string): Answer {
  return { status, body: { error: { type, message, ...(code ? { code } : {}) } } };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
