import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { StripeAccount } from './stripe-account';
import {
  missing,
  nowS,
  problem,
  type StripeAnswer,
  type StripeRefund,
  type StripeSession,
} from './stripe-objects';
import { judgeQuery, judgeRefundParams, judgeSession, judgeVersion, linesOf } from './stripe-rules';

export interface StripeCall {
  /** As in `POST /v1/refunds`. */
  readonly route: string;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
}

interface Kept {
  readonly request: string;
  readonly answer: StripeAnswer;
}

const DAY_S = 86_400;
const ID = /^\w+ \/v1\/(?:checkout\/sessions|refunds)\/([^/]+)/;

/** The endpoints that the adapter calls, with what stands before all of them. */
export class StripeApi {
  readonly calls: string[] = [];
  /** Calls that are carried out and answered with 500, which is kept for their key. */
  failures = 0;
  readonly #kept = new Map<string, Kept>();
  readonly #underWay = new Set<string>();

  constructor(private readonly account: StripeAccount) {}

  /** docs.stripe.com/api/idempotent_requests, as far as a key decides the answer. */
  answer(call: StripeCall): StripeAnswer & { readonly isReplayed?: boolean } {
    const { route, headers, form } = call;
    this.calls.push(route);
    if (!/^Bearer [sr]k_test_/.test(headers.authorization ?? '')) {
      return problem('Invalid API Key provided', { status: 401 });
    }
    const key = headers['idempotency-key'];
    if (typeof key !== 'string' || !route.startsWith('POST ')) return this.#carryOut(call);
    const request = `${route}?${form.toString()}`;
    const kept = this.#kept.get(key);
    if (kept && kept.request !== request) {
      const message =
        'Keys for idempotent requests can only be used with the same parameters they were first used with.';
      return problem(message, { type: 'idempotency_error' });
    }
    if (kept) return { ...kept.answer, isReplayed: true };
    if (this.#underWay.has(key)) return inUse();
    const answer = this.#carryOut(call);
    if (answer.keep !== false) this.#kept.set(key, { request, answer });
    return answer;
  }

  /** While it is set, another call with this key is answered with a conflict. */
  hold(key: string, isHeld: boolean): void {
    if (isHeld) this.#underWay.add(key);
    else this.#underWay.delete(key);
  }

  /** After a day, at the earliest. */
  forgetKeys(): void {
    this.#kept.clear();
  }

  #carryOut(call: StripeCall): StripeAnswer {
    const fault = judgeVersion(call.headers['stripe-version']) ?? judgeQuery(call.query);
    if (fault) return fault;
    const answer = this.#route(call);
    if (answer.status !== 200 || !call.route.startsWith('POST ') || this.failures === 0) {
      return answer;
    }
    this.failures -= 1;
    return problem('An unknown error occurred', { status: 500, type: 'api_error', keep: true });
  }

  #route({ route, query, form }: StripeCall): StripeAnswer {
    const { sessions, refunds, disputes, endpoints, eventLog } = this.account;
    const id = ID.exec(route)?.[1] ?? '';
    switch (route.replace(id || '\0', ':id')) {
      case 'POST /v1/checkout/sessions':
        return judgeSession(form) ?? this.#createSession(form);
      case 'GET /v1/checkout/sessions':
        return list(ofIntent([...sessions.values()], query), query, (one) =>
          this.#view(one, query, 'data.'),
        );
      case 'GET /v1/checkout/sessions/:id': {
        const session = sessions.get(id);
        return session ? ok(this.#view(session, query)) : missing('checkout.session', id);
      }
      case 'POST /v1/checkout/sessions/:id/expire':
        return this.#expire(id, form);
      case 'POST /v1/refunds':
        return judgeRefundParams(form) ?? this.#createRefund(form);
      case 'GET /v1/refunds':
        return list(ofIntent(refunds, query), query);
      case 'GET /v1/disputes':
        return list(ofIntent(disputes, query), query);
      case 'GET /v1/refunds/:id': {
        const refund = refunds.find((one) => one.id === id);
        return refund ? ok({ ...refund }) : missing('refund', id);
      }
      case 'GET /v1/events': {
        const types = [...query]
          .filter(([name]) => name.startsWith('types'))
          .map(([, type]) => type);
        const monthAgo = nowS() - 30 * DAY_S;
        const kept = eventLog.filter(
          ({ created, type }) => created > monthAgo && types.includes(type),
        );
        return list(kept, query);
      }
      case 'GET /v1/webhook_endpoints':
        return list(endpoints, query);
      default:
        return problem(`Unrecognized request URL (${route}).`, { status: 404 });
    }
  }

  #createSession(form: URLSearchParams): StripeAnswer {
    const id = `cs_test_${randomUUID().replaceAll('-', '')}`;
    const excluded = [...form].filter(([name]) => name.startsWith('excluded_payment_method'));
    const session: StripeSession = {
      id,
      object: 'checkout.session',
      amount_total: linesOf(form).reduce((sum, { amount, quantity }) => sum + amount * quantity, 0),
      client_reference_id: form.get('client_reference_id'),
      created: nowS(),
      currency: form.get('line_items[0][price_data][currency]'),
      excluded_payment_method_types: excluded.map(([, method]) => method),
      expires_at: Number(form.get('expires_at') ?? nowS() + DAY_S),
      livemode: false,
      metadata: metadataOf(form),
      payment_intent: null,
      payment_status: 'unpaid',
      status: 'open',
      url: `https://checkout.stripe.com/c/pay/${id}`,
    };
    this.account.sessions.set(id, session);
    return ok({ ...session });
  }

  /** docs.stripe.com/api/checkout/sessions/expire: "only when its status is one of: open". */
  #expire(id: string, form: URLSearchParams): StripeAnswer {
    const session = this.account.sessions.get(id);
    if (!session) return missing('checkout.session', id);
    if (session.status !== 'open') {
      return problem(
        `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of ${session.status}.`,
      );
    }
    Object.assign(session, { status: 'expired', url: null });
    this.account.emit('checkout.session.expired', session);
    return ok(this.#view(session, form));
  }

  #createRefund(form: URLSearchParams): StripeAnswer {
    const id = form.get('payment_intent') ?? '';
    const intent = this.account.intents.get(id);
    const charge = this.account.charges.get(intent?.latest_charge ?? '');
    if (!charge) return missing('payment_intent', id);
    const left = charge.amount_captured - charge.amount_refunded;
    const amount = Number(form.get('amount') ?? left);
    if (left === 0) {
      const message = `Charge ${charge.id} has already been refunded.`;
      return problem(message, { code: 'charge_already_refunded', keep: true });
    }
    if (!Number.isInteger(amount) || amount < 1 || amount > left) {
      const message = `Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`;
      return problem(message, { keep: true });
    }
    const refund: StripeRefund = this.account.refund(id, amount, metadataOf(form));
    return ok(refund);
  }

  /** The session as it is answered: what is behind it is an id, unless it is expanded. */
  #view(session: StripeSession, params: URLSearchParams, prefix = ''): object {
    const wanted = [...params].filter(([name]) => name.startsWith('expand')).map(([, v]) => v);
    const isWanted = (path: string): boolean =>
      wanted.some((one) => one === prefix + path || one.startsWith(`${prefix}${path}.`));
    const intent = this.account.intents.get(session.payment_intent ?? '');
    if (!intent || !isWanted('payment_intent')) return { ...session };
    const charge = this.account.charges.get(intent.latest_charge ?? '');
    if (!charge || !isWanted('payment_intent.latest_charge')) {
      return { ...session, payment_intent: { ...intent } };
    }
    // Since version 2022-11-15 refunds are part of a charge only when they are asked for: the newest ten.
    const made = this.account.refunds.filter((refund) => refund.charge === charge.id).reverse();
    const [data, has_more] = [made.slice(0, 10), made.length > 10];
    const refunds = { object: 'list', data, has_more, url: `/v1/charges/${charge.id}` };
    const withRefunds = isWanted('payment_intent.latest_charge.refunds');
    const latest_charge = { ...charge, ...(withRefunds ? { refunds } : {}) };
    return { ...session, payment_intent: { ...intent, latest_charge } };
  }
}

function ok(body: object): StripeAnswer {
  return { status: 200, body };
}

function inUse(): StripeAnswer {
  const message =
    'There is currently another in-progress request using this idempotency key. Please try again later.';
  return problem(message, { status: 409, code: 'idempotency_key_in_use' });
}

function metadataOf(form: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
      return key ? [[key, value]] : [];
    }),
  );
}

function ofIntent<T extends { payment_intent: string | null }>(
  all: readonly T[],
  query: URLSearchParams,
): T[] {
  const intent = query.get('payment_intent');
  return all.filter((one) => intent === null || one.payment_intent === intent);
}

/** docs.stripe.com/api/pagination: newest first, continued after the last one's id. */
function list<T extends { id: string; created: number }>(
  all: readonly T[],
  query: URLSearchParams,
  view: (one: T) => object = (one) => one,
): StripeAnswer {
  const limit = Number(query.get('limit') ?? 10);
  const gte = Number(query.get('created[gte]') ?? 0);
  const lte = Number(query.get('created[lte]') ?? Infinity);
  const after = query.get('starting_after');
  const matching = all.filter(({ created }) => created >= gte && created <= lte).reverse();
  const from = after === null ? 0 : matching.findIndex(({ id }) => id === after) + 1;
  const has_more = from + limit < matching.length;
  return ok({
    object: 'list',
    url: '/v1/list',
    has_more,
    data: matching.slice(from, from + limit).map(view),
  });
}
