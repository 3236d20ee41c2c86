import type Stripe from 'stripe';
import type { LedgerPage, LedgerPayment } from '../payment-provider';
import { MONEY_AND_REFUNDS } from './stripe-names';
import {
  hasMoreRefunds,
  isDisputed,
  isOurs,
  type Session,
  toLedgerPayment,
} from './stripe-session';

const PAGE = 100;
/** The most that the SDK reads at once; one payment has a handful. */
const MANY = { limit: 10_000 };
/** No buyer waits for it, and a page of a hundred sessions with all that is behind them takes its time. */
const PATIENT = { timeout: 30_000, maxNetworkRetries: 3 };
const EXPAND = [`data.${MONEY_AND_REFUNDS}`];

/**
 * What Stripe tells of a payment of ours that was opened before: paid, refunded, disputed, or any of
 * that undone. Its events are kept for 30 days, and tell of changes, which lists of objects do not.
 */
const CHANGES = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
];

/** The lists that are read, one after the other. */
const LISTS = ['sessions', 'refunds', 'disputes', 'events'] as const;
type List = (typeof LISTS)[number];

interface Place {
  readonly list: List;
  /** The last object of the page before. */
  readonly after: string | undefined;
}

type Filter = {
  readonly created: { readonly gte: number };
  readonly limit: number;
  readonly starting_after?: string;
};

/**
 * Everything that changed in an account since an instant, page by page. Sessions by their creation,
 * what was refunded or disputed since of older ones, and what events tell of: a refund made long ago
 * that failed only now is in no list by creation.
 */
export class StripeLedger {
  constructor(
    private readonly stripe: Stripe,
    private readonly installation: string,
  ) {}

  /** From the beginning, or behind the page whose `next` is given. */
  async *pages(since: Date, from: string | null): AsyncGenerator<LedgerPage> {
    const gte = Math.floor(since.getTime() / 1_000);
    let place: Place | undefined =
      from === null ? { list: 'sessions', after: undefined } : read(from);
    while (place) {
      const { list, after }: Place = place;
      const filter = { created: { gte }, limit: PAGE, ...(after ? { starting_after: after } : {}) };
      const { payments, last, hasMore } = await this.#page(list, filter);
      place = hasMore && last ? { list, after: last } : beginning(LISTS[LISTS.indexOf(list) + 1]);
      yield { payments, next: place ? write(place) : null };
    }
  }

  async #page(
    list: List,
    filter: Filter,
  ): Promise<{ payments: LedgerPayment[]; last: string | undefined; hasMore: boolean }> {
    if (list === 'sessions') {
      const { data, has_more: hasMore } = await this.stripe.checkout.sessions.list(
        { ...filter, expand: EXPAND },
        PATIENT,
      );
      const ours = data.filter((session) => isOurs(session, this.installation));
      const payments = await Promise.all(ours.map((session) => this.#toLedger(session)));
      return { payments, last: data.at(-1)?.id, hasMore };
    }
    const { data, has_more: hasMore } = await this.#changes(list, filter);
    const found = new Map<string, LedgerPayment>();
    // Younger ones were in their own list.
    const isWanted = (session: Session): boolean =>
      session.created < filter.created.gte && isOurs(session, this.installation);
    for (const subject of new Set(data.flatMap((changed) => subjectOf(changed, isWanted)))) {
      const session = await this.#sessionOf(subject);
      if (!session || found.has(session.id) || !isWanted(session)) continue;
      found.set(session.id, await this.#toLedger(session));
    }
    return { payments: [...found.values()], last: data.at(-1)?.id, hasMore };
  }

  #changes(
    list: Exclude<List, 'sessions'>,
    filter: Filter,
  ): Promise<Stripe.ApiList<Stripe.Refund | Stripe.Dispute | Stripe.Event>> {
    switch (list) {
      case 'refunds':
        return this.stripe.refunds.list(filter, PATIENT);
      case 'disputes':
        return this.stripe.disputes.list(filter, PATIENT);
      case 'events':
        return this.stripe.events.list({ ...filter, types: CHANGES }, PATIENT);
    }
  }

  async #sessionOf(subject: string): Promise<Session | undefined> {
    const { sessions } = this.stripe.checkout;
    if (subject.startsWith('cs_'))
      return sessions.retrieve(subject, { expand: [MONEY_AND_REFUNDS] }, PATIENT);
    // A payment intent of Checkout has one session.
    const { data } = await sessions.list({ payment_intent: subject, expand: EXPAND }, PATIENT);
    return data[0];
  }

  async #toLedger(session: Session): Promise<LedgerPayment> {
    const payment_intent = idOf(session.payment_intent);
    if (!payment_intent) return toLedgerPayment(session);
    const [refunds, disputes] = await Promise.all([
      hasMoreRefunds(session)
        ? this.stripe.refunds.list({ payment_intent, limit: PAGE }, PATIENT).autoPagingToArray(MANY)
        : undefined,
      isDisputed(session)
        ? this.stripe.disputes
            .list({ payment_intent, limit: PAGE }, PATIENT)
            .autoPagingToArray(MANY)
        : undefined,
    ]);
    return toLedgerPayment(session, { refunds, disputes });
  }
}

/**
 * The session or the payment intent that it is about. An event has its session as it was then, which tells whether
 * that is wanted: nearly all are of the last days, and none of these has to be asked for.
 */
function subjectOf(
  changed: Stripe.Refund | Stripe.Dispute | Stripe.Event,
  isWanted: (session: Session) => boolean,
): string[] {
  if (changed.object === 'event') {
    const about = changed.data.object as Session | Stripe.Refund | Stripe.Dispute;
    if (about.object !== 'checkout.session') return subjectOf(about, isWanted);
    return isWanted(about) ? [about.id] : [];
  }
  const intent = idOf(changed.payment_intent);
  return intent === undefined ? [] : [intent];
}

export function idOf(reference: string | { id: string } | null): string | undefined {
  return typeof reference === 'string' ? reference : reference?.id;
}

const beginning = (list: List | undefined): Place | undefined => list && { list, after: undefined };

const write = ({ list, after }: Place): string => `${list} ${after ?? ''}`.trim();

function read(text: string): Place {
  const [list, after] = text.split(' ') as [List, string | undefined];
  if (!LISTS.includes(list)) throw new TypeError(`"${text}" is no place in Stripe's ledger`);
  return { list, after };
}
