import { nowS, problem, type StripeAnswer } from './stripe-objects';

/*
 * What Stripe refuses, each by its own page and not by the adapter's tables, which these are to
 * judge. docs/providers.md names the pages.
 */

/** docs.stripe.com/currencies: the shapes of amounts, by an example of each. */
const ZERO_DECIMAL = new Set(
  'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '),
);
const THREE_DECIMAL = new Set('bhd jod kwd omr tnd'.split(' '));
/** "Special cases": kept with two decimals, and fractions cannot be charged. */
const WHOLE_ONLY = new Set(['isk', 'ugx']);
const TWO_DECIMAL = new Set(
  'usd eur gbp chf cad aud nzd sek nok dkk pln czk huf hkd sgd mxn brl inr thb myr ron aed twd'.split(
    ' ',
  ),
);
/** "Minimum and maximum charge amounts", of the currencies that the tests charge. */
const MINIMUM: Readonly<Record<string, number>> = {
  usd: 50,
  eur: 50,
  gbp: 30,
  jpy: 50,
  huf: 17_500,
  czk: 1_500,
  mxn: 1_000,
};

/** docs.stripe.com/api/checkout/sessions/create: the parameters that there are, among the many. */
const SESSION_PARAMS =
  /^(mode|client_reference_id|success_url|cancel_url|expires_at|adaptive_pricing\[enabled\]|expand\[\d+\]|metadata\[[^\]]{1,40}\]|payment_intent_data\[metadata\]\[[^\]]{1,40}\]|excluded_payment_method_types\[\d+\]|line_items\[\d+\]\[quantity\]|line_items\[\d+\]\[price_data\]\[(currency|unit_amount)\]|line_items\[\d+\]\[price_data\]\[product_data\]\[name\])$/;
const REFUND_PARAMS = /^(payment_intent|amount|reason|expand\[\d+\]|metadata\[[^\]]{1,40}\])$/;
const LONGEST_REFERENCE = 200;
const LONGEST_VALUE = 500;
const MINIMUM_LIFE_S = 30 * 60;
const LONGEST_LIFE_S = 24 * 3_600;
/** docs.stripe.com/api/expanding_objects */
const DEEPEST_EXPANSION = 4;
/** docs.stripe.com/api/versioning: a date, and since 2024-09-30 a name. */
const VERSION = /^\d{4}-\d{2}-\d{2}(\.[a-z]+)?$/;

export function judgeVersion(version: string | string[] | undefined): StripeAnswer | undefined {
  if (version === undefined || (typeof version === 'string' && VERSION.test(version))) return;
  return problem(`Invalid Stripe API version: ${String(version)}`);
}

export function judgeSession(form: URLSearchParams): StripeAnswer | undefined {
  const fault = judgeNames(form, SESSION_PARAMS);
  if (fault) return fault;
  if ((form.get('client_reference_id') ?? '').length > LONGEST_REFERENCE) {
    return problem('Invalid string: must be at most 200 characters', {
      param: 'client_reference_id',
    });
  }
  for (const name of ['mode', 'success_url']) {
    if (!form.get(name)) return problem(`Missing required param: ${name}.`, { param: name });
  }
  const expiresAt = form.get('expires_at');
  const lifeS = expiresAt === null ? LONGEST_LIFE_S : Number(expiresAt) - nowS();
  if (!(lifeS >= MINIMUM_LIFE_S && lifeS <= LONGEST_LIFE_S + 60)) {
    const message =
      'The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.';
    return problem(message, { param: 'expires_at' });
  }
  return judgeLines(linesOf(form));
}

interface Line {
  readonly text: string;
  readonly amount: number;
  readonly currency: string;
  readonly quantity: number;
  readonly name: string;
}

export function linesOf(form: URLSearchParams): Line[] {
  const count = [...form.keys()].filter((name) => /^line_items\[\d+\]\[quantity\]$/.test(name));
  return count.map((_, i) => {
    const field = (name: string) => form.get(`line_items[${i}]${name}`) ?? '';
    const text = field('[price_data][unit_amount]');
    const [currency, name] = [
      field('[price_data][currency]'),
      field('[price_data][product_data][name]'),
    ];
    return { text, amount: Number(text), currency, quantity: Number(field('[quantity]')), name };
  });
}

/** docs.stripe.com/api/checkout/sessions/create#create_checkout_session-line_items */
const MOST_LINES = 100;

function judgeLines(lines: readonly Line[]): StripeAnswer | undefined {
  const [first] = lines;
  if (!first || lines.length > MOST_LINES) return problem('You must pass 1 to 100 line items.');
  for (const { text, currency, quantity, name } of lines) {
    if (currency !== first.currency) return problem('All line items must have one currency.');
    if (!(Number.isInteger(quantity) && quantity > 0)) return problem('Invalid quantity');
    if (name === '') return problem('You passed an empty string', { param: 'name' });
    const fault = judgeAmount(text, currency);
    if (fault) return fault;
  }
  const total = lines.reduce((sum, { amount, quantity }) => sum + amount * quantity, 0);
  const minimum = MINIMUM[first.currency] ?? 1;
  if (total >= minimum) return undefined;
  const message = `The Checkout Session's total amount due must add up to at least ${minimum} ${first.currency}`;
  return problem(message, { code: 'amount_too_small' });
}

export function judgeRefundParams(form: URLSearchParams): StripeAnswer | undefined {
  return judgeNames(form, REFUND_PARAMS);
}

/** docs.stripe.com/api/pagination and api/expanding_objects. */
export function judgeQuery(query: URLSearchParams): StripeAnswer | undefined {
  const limit = Number(query.get('limit') ?? 10);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    return problem('Invalid limit: must be between 1 and 100', { param: 'limit' });
  }
  for (const [name, path] of query) {
    if (name.startsWith('expand') && path.split('.').length > DEEPEST_EXPANSION) {
      return problem(`You cannot expand more than 4 levels of a property: ${path}`);
    }
  }
  return undefined;
}

function judgeNames(form: URLSearchParams, known: RegExp): StripeAnswer | undefined {
  for (const [name, value] of form) {
    if (!known.test(name)) {
      return problem(`Received unknown parameter: ${name}`, {
        code: 'parameter_unknown',
        param: name,
      });
    }
    if (name.includes('metadata') && value.length > LONGEST_VALUE) {
      return problem('Metadata values can have up to 500 characters', { param: name });
    }
  }
  return undefined;
}

function judgeAmount(text: string, currency: string): StripeAnswer | undefined {
  if (!/^\d{1,8}$/.test(text)) return problem(`Invalid integer: ${text}`, { param: 'unit_amount' });
  const amount = Number(text);
  const isKnown = [ZERO_DECIMAL, THREE_DECIMAL, WHOLE_ONLY, TWO_DECIMAL].some((set) =>
    set.has(currency),
  );
  if (!isKnown) return problem(`Invalid currency: ${currency}.`, { param: 'currency' });
  const multiple = WHOLE_ONLY.has(currency) ? 100 : THREE_DECIMAL.has(currency) ? 10 : 1;
  if (amount % multiple !== 0) {
    return problem(`Invalid amount: must be divisible by ${multiple} in ${currency}`);
  }
  return undefined;
}
