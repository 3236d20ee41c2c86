import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LedgerPage, PaymentProvider } from '../providers/payment-provider';
import { readLedger } from './reconcile-places';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A ledger of so many pages, and how many of them are still in memory. */
function ledgerOf(count: number) {
  const pages: WeakRef<LedgerPage>[] = [];
  async function* ledger(): AsyncGenerator<LedgerPage> {
    for (let n = 1; n <= count; n++) {
      await Promise.resolve();
      const page: LedgerPage = { payments: [], next: n < count ? `${n}` : null };
      pages.push(new WeakRef(page));
      yield page;
    }
  }
  const provider = { name: 'sandbox', ledger } as unknown as PaymentProvider;
  return { provider, kept: () => pages.filter((page) => page.deref()).length };
}

it.each([
  ['who can be told to stop', new AbortController().signal],
  ['who cannot', undefined],
])('keeps no page of a ledger but the last, for one %s', async (_, signal) => {
  const { provider, kept } = ledgerOf(50);
  const left: number[] = [];
  for await (const page of readLedger(provider, { since: new Date(), from: null, signal })) {
    // What has been looked at by a reference is kept to the end of its turn.
    await new Promise((resolve) => setImmediate(resolve));
    // Once: collecting looks at all that the tests before have left in this process.
    if (page.next === null) collectGarbage();
    left.push(kept());
    expect(page.payments).toEqual([]);
  }
  expect(left).toHaveLength(50);
  expect(left.at(-1)).toBeLessThan(5);
});
