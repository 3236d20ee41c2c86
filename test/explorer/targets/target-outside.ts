import type { LedgerEntry } from '../../support/ledger-entry';
import type { LedgerProvider } from '../../support/ledger-provider';
import { Outside, type Sent } from '../outside';
import { AMOUNT } from './target-shop';

let references = 0;

/** What a program of close targets knows from outside. */
export class TargetOutside extends Outside {
  /** What `close` has answered. */
  readonly answers: {
    readonly orderId: string;
    readonly answer: 'closed' | 'closing' | 'busy' | 'moved_on';
  }[] = [];
  /** References of payments that were captured although they had ended. */
  readonly late = new Set<string>();
  /** Orders that an operator has said something of. */
  readonly told = new Set<string>();
  /** Refunds that an operator has made by another way than their providers. */
  readonly byHand = new Set<string>();

  readonly #toldOf = new Set<string>();

  constructor(
    providers: readonly LedgerProvider[],
    orders: readonly {
      readonly id: string;
      readonly payments: readonly { readonly id: string; readonly at: LedgerProvider }[];
    }[],
  ) {
    super(
      providers,
      orders.map((order) => ({ ...order, amount: AMOUNT })),
    );
  }

  nextReference(): string {
    references += 1;
    return `p${references}`;
  }

  payLate(reference: string, now: Date): Sent | undefined {
    const wasOpen = this.entry(reference)?.status === 'open';
    const sent = this.pay(reference, now, { late: true });
    if (sent && !wasOpen) this.late.add(reference);
    return sent;
  }

  /** The newest refund of this order that we have asked for; or it comes back. */
  tellOfRefund(bounces: boolean, order: number): Sent | undefined {
    for (const id of this.paymentIds[order] ?? []) {
      const [provider, entry] = [this.at(id), this.entry(id)];
      const made = entry?.refunds.findLast(({ key, state }) => key !== null && state !== 'FAILED');
      if (!provider || !entry || !made) continue;
      return this.send(
        provider,
        bounces ? provider.bounced(entry, made) : provider.refunded(entry, made),
      );
    }
    return undefined;
  }

  /** Providers tell of each refund that they have made for us, and of the disputes that banks have decided; false where all of it was told before. */
  tellOfAll(): boolean {
    const before = this.sent.length;
    for (const provider of this.providers) {
      for (const entry of provider.entries.values()) {
        for (const dispute of entry.disputes.filter(({ state }) => state === 'opened')) {
          this.send(provider, provider.decided(entry, dispute, 'lost'));
        }
        for (const refund of entry.refunds) {
          if (refund.key === null || refund.state === 'FAILED' || this.#toldOf.has(refund.id))
            continue;
          this.#toldOf.add(refund.id);
          this.send(provider, provider.refunded(entry, refund));
        }
      }
    }
    return this.sent.length > before;
  }

  entriesOf(orderId: string): LedgerEntry[] {
    const ids = this.paymentIds[this.orderIds.indexOf(orderId)] ?? [];
    return ids.flatMap((id) => this.entry(id) ?? []);
  }
}
