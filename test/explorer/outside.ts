import { ReceiveWebhook } from '@app/orders';
import type { LedgerEntry } from '../support/ledger-entry';
import { idAtProvider, type LedgerProvider, type Posted } from '../support/ledger-provider';
import type { InsertedOrder } from '../support/insert-orders';
import type { World } from '../support/world';

/** A webhook, and who sends it. */
export interface Sent extends Posted {
  readonly provider: string;
}

interface TakesWebhooks {
  receive(provider: string, body: Buffer, headers: Posted['headers']): Promise<unknown>;
}

interface Known extends Pick<InsertedOrder, 'id' | 'amount'> {
  readonly payments: readonly { readonly id: string; readonly at: LedgerProvider }[];
}

/** What a program knows of the shop from outside: orders, payments, and what was answered. */
export class Outside {
  readonly orderIds: readonly string[];
  /** Payments of each order, the newest last. */
  readonly paymentIds: readonly string[][];
  /** Every webhook that a provider has sent; it repeats those that were not acknowledged. */
  readonly sent: Sent[] = [];
  readonly acknowledged = new Set<Sent>();
  readonly placed: { readonly key: number; readonly orderId: string }[] = [];
  /** Orders whose customer was told that they are closed, and nothing was paid. */
  readonly toldClosed = new Set<string>();
  /** What operators have sent of refunds by another way than their providers. */
  readonly transfers: { readonly refundId: string; readonly amount: number }[] = [];
  /** Payments on hold of which operators were told that their decision stands. */
  readonly decided: string[] = [];
  readonly unexpected: unknown[] = [];

  constructor(
    readonly providers: readonly LedgerProvider[],
    orders: readonly Known[],
  ) {
    for (const { amount, payments } of orders) {
      for (const { id: paymentId, at } of payments) at.open({ paymentId, amount, currency: 'EUR' });
    }
    this.orderIds = orders.map(({ id }) => id);
    this.paymentIds = orders.map(({ payments }) => payments.map(({ id }) => id));
  }

  /** What the providers know of all payments. */
  get entries(): LedgerEntry[] {
    return this.providers.flatMap(({ entries }) => [...entries.values()]);
  }

  /** Where this payment was made, if it has come there. */
  at(paymentId: string): LedgerProvider | undefined {
    return this.providers.find(({ entries }) => entries.has(idAtProvider(paymentId)));
  }

  entry(paymentId: string): LedgerEntry | undefined {
    return this.at(paymentId)?.entries.get(idAtProvider(paymentId));
  }

  /** The buyer pays; undefined when the provider refuses, or knows of no such payment. */
  pay(paymentId: string, ...how: [paidAt: Date, options?: PayOptions]): Sent | undefined {
    const provider = this.at(paymentId);
    return provider && this.send(provider, provider.pay(paymentId, ...how));
  }

  /** A webhook begins its way: from now on its provider repeats it. */
  send({ name }: LedgerProvider, posted: Posted | undefined): Sent | undefined {
    if (!posted) return undefined;
    const sent = { ...posted, provider: name };
    this.sent.push(sent);
    return sent;
  }

  /** Brings a webhook; one that is not answered with success stays to be sent again. */
  deliver(world: World, sent: Sent | undefined): Promise<void> {
    return this.bring(world.get(ReceiveWebhook), sent);
  }

  /** The same, to whom it is that takes them. */
  async bring(taker: TakesWebhooks, sent: Sent | undefined): Promise<void> {
    if (!sent) return;
    await taker.receive(sent.provider, sent.body, sent.headers);
    this.acknowledged.add(sent);
  }
}

type PayOptions = NonNullable<Parameters<LedgerProvider['pay']>[2]>;
