import { LastcallError, reasonOf } from '../order/errors';
import type { LedgerPage, PaymentProvider } from '../providers/payment-provider';

/** Where a comparison goes on: at this provider, on this side, behind this page; `from` null: at its beginning. */
export interface Place {
  readonly provider: string;
  readonly side: 'theirs' | 'ours';
  readonly from: string | null;
}

/** Where a run goes on, and where after that: those whose ledgers could not be read come last. */
export interface PlaceOfRun extends Place {
  /** Not in one that was stored before there was this: then the providers behind it. */
  readonly rest?: readonly Place[];
  /** True where nothing is left but ledgers that could not be read. */
  readonly isUnread?: boolean;
}

/** What is left to compare, in order: of a run that begins, all the providers of these names. */
export function placesLeft(at: PlaceOfRun | null, names: readonly string[]): Place[] {
  const all = names.map((provider): Place => ({ provider, side: 'theirs', from: null }));
  if (at === null) return all;
  const { rest = all.slice(names.indexOf(at.provider) + 1), isUnread: _, ...place } = at;
  return [place, ...rest];
}

/** A provider's ledger cannot be read to its end; `place` is where it goes on. */
export class UnreadLedger extends Error {
  constructor(
    readonly place: Place,
    cause: unknown,
  ) {
    super(`The ledger of ${place.provider} could not be read`, { cause });
  }
}

interface Reading {
  readonly since: Date;
  /** Null: from the beginning. */
  readonly from: string | null;
  /** No page is waited for any longer: it may be a hundred calls, or never come. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A provider's ledger, from the beginning or behind a page. What fails as a page is worked on is not its own.
 * @throws {UnreadLedger} it goes on behind the last page that was worked on
 */
export async function* readLedger(
  provider: PaymentProvider,
  { since, from, signal }: Reading,
): AsyncGenerator<LedgerPage> {
  let place: Place = { provider: provider.name, side: 'theirs', from };
  let pages: AsyncIterator<LedgerPage> | undefined;
  try {
    pages = provider.ledger(since, from)[Symbol.asyncIterator]();
    for (;;) {
      const page = await unlessStopped(pages.next(), signal);
      if (!page || page.done) return;
      yield page.value;
      place = { ...place, from: page.value.next };
    }
  } catch (error) {
    throw new UnreadLedger(place, error);
  } finally {
    // Behind a page that never comes it ends never.
    void pages?.return?.().catch(() => undefined);
  }
}

/**
 * Undefined once it is told to stop. Of nothing that outlives a page: what is raced against one promise again and
 * again is kept by it, and that would be the whole ledger.
 */
function unlessStopped<T>(
  page: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve(undefined);
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop, { once: true });
    page.finally(() => signal?.removeEventListener('abort', stop)).then(resolve, reject);
  });
}

/** What a run fails with that has compared all the others. */
export function notRead([first, ...others]: readonly [UnreadLedger, ...UnreadLedger[]]): Error {
  const unread = [first, ...others];
  const providers = unread.map(({ place }) => place.provider);
  const ledgers = others.length === 0 ? 'The ledger' : 'The ledgers';
  const why = first.cause instanceof LastcallError ? first.cause.message : reasonOf(first.cause);
  return new LastcallError(
    'provider_error',
    `${ledgers} of ${providers.join(' and ')} could not be read: ${why}`,
    { providers },
    { cause: others.length === 0 ? first.cause : new AggregateError(unread) },
  );
}
