import { randomUUID } from 'node:crypto';
import type { Client } from './client';
import type { Answer } from './experience';

/** What a customer was told, and must be able to rely on. */
export interface Acknowledged {
  /** By order id. */
  readonly placed: Map<string, { readonly key: string; readonly amount: number }>;
  /** Orders whose cancelling was answered with 200. */
  readonly canceled: Set<string>;
  /** The provider's payment ids that it took money for. */
  readonly captured: Set<string>;
}

type Fate = 'abandon' | 'pay' | 'pay_late' | 'fail' | 'cancel' | 'ship' | 'twice';
const FATES: readonly Fate[] = [
  ...(['abandon', 'abandon', 'abandon', 'abandon', 'pay', 'pay', 'pay', 'pay'] as const),
  ...(['pay_late', 'pay_late', 'fail', 'cancel', 'ship', 'twice'] as const),
];
const SKUS = ['TEA-A', 'TEA-B', 'TEA-C', 'TEA-D'];
const RETRY_MS = 250;
const RETRY_MAX_MS = 2_000;
/** A shop that answers nobody gets no new customers: they would all be on this machine. */
const MAX_ALIVE = 300;
/** Customers give up at some time; by then every fault has healed. */
const PATIENCE_MS = 120_000;

/** Mulberry32: the same fates for the same seed. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Customers, so many orders a second whatever the shop does, each with a fate of its own. */
export class Load {
  readonly #lives = new Set<Promise<void>>();
  /** Orders that a merchant ships once they are paid, however long that takes here. */
  readonly toBeShipped = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #begun = 0;
  #placing = 0;

  constructor(
    private readonly client: Client,
    readonly acknowledged: Acknowledged,
    private readonly random: () => number,
  ) {}

  /** Orders begun so far. */
  get begun(): number {
    return this.#begun;
  }

  start(perSecond = 21): this {
    let owed = 0;
    let lastMs = performance.now();
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      owed = Math.min(owed + ((nowMs - lastMs) / 1_000) * perSecond, perSecond);
      lastMs = nowMs;
      for (; owed >= 1; owed -= 1) this.#begin();
    }, 20);
    return this;
  }

  /** Begins no more orders, and waits for those that are being placed; lives go on. */
  async startNoMore(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#placing > 0) await pause(20);
  }

  /** Begins no more orders, and waits until every life has come to its end. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#lives.size > 0) await Promise.all(this.#lives);
  }

  #begin(): void {
    if (this.#lives.size >= MAX_ALIVE) return;
    this.#begun += 1;
    const fate = FATES[Math.floor(this.random() * FATES.length)] as Fate;
    const life = this.#live(fate, this.random(), this.random()).finally(() =>
      this.#lives.delete(life),
    );
    this.#lives.add(life);
  }

  async #live(fate: Fate, chance: number, which: number): Promise<void> {
    const key = randomUUID();
    const sub = `customer-${Math.floor(which * 200)}`;
    const place = (): Promise<Answer | undefined> => this.#place(sub, key, which);
    const [placed, again] = await Promise.all([place(), fate === 'twice' ? place() : undefined]);
    if (!placed) return;
    const { id, closesAt, serverNow } = placed.body as Record<string, string>;
    if (again && again.body.id !== id)
      this.client.experience.wrong.push('one key placed two orders');
    const leftMs = Date.parse(closesAt ?? '') - Date.parse(serverNow ?? '');
    const placedMs = performance.now();
    if (fate === 'ship') this.toBeShipped.add(id as string);
    switch (fate) {
      case 'abandon':
      case 'twice':
        return;
      case 'cancel': {
        await pause(chance * 1_000);
        const answer = await this.#persist(() =>
          this.client.api(`POST /v1/orders/${id}/cancel`, { sub }),
        );
        if (answer?.status === 200) this.acknowledged.canceled.add(id as string);
        return;
      }
      default: {
        const payment = await this.#openPayment(id as string, sub);
        if (!payment) return;
        if (fate === 'fail') {
          await this.client.sandbox(`POST /v1/payments/${payment}/fail`, {});
          return;
        }
        // All around the deadline, or soon.
        const untilMs = fate === 'pay_late' ? leftMs - 600 + chance * 800 : chance * 1_500;
        await pause(placedMs + untilMs - performance.now());
        const paid = await this.client.sandbox(`POST /v1/payments/${payment}/pay`, {});
        if (paid.status === 200) this.acknowledged.captured.add(payment);
        if (fate !== 'ship') return;
        await pause(500);
        await this.client.api(`POST /v1/orders/${id}/shipment`, { scope: 'merchant' });
      }
    }
  }

  async #place(sub: string, key: string, which: number): Promise<Answer | undefined> {
    const sku = SKUS[Math.floor(which * 97) % SKUS.length];
    const items = [{ sku, quantity: 1 + Math.floor(which * 3) }];
    this.#placing += 1;
    const answer = await this.#persist(() =>
      this.client.api('POST /v1/orders', {
        sub,
        body: { items },
        headers: { 'idempotency-key': key },
      }),
    ).finally(() => (this.#placing -= 1));
    if (answer?.status !== 201) return undefined;
    const { id, amount } = answer.body as unknown as { id: string; amount: number };
    this.acknowledged.placed.set(id, { key, amount });
    return answer;
  }

  async #openPayment(orderId: string, sub: string): Promise<string | undefined> {
    const answer = await this.#persist(() =>
      this.client.api(`POST /v1/orders/${orderId}/payments`, { sub }),
    );
    return answer?.status === 201 ? answer.body.providerPaymentId : undefined;
  }

  /** As a good client does: the same call again after a 5xx or a broken connection. */
  async #persist(send: () => Promise<Answer>): Promise<Answer | undefined> {
    const giveUpMs = performance.now() + PATIENCE_MS;
    for (let waitMs = RETRY_MS; performance.now() < giveUpMs; waitMs *= 2) {
      const answer = await send();
      const isFinal = answer.status >= 200 && answer.status < 500 && answer.status !== 429;
      if (isFinal) return answer;
      await pause(Math.min(waitMs, RETRY_MAX_MS) * (0.5 + this.random()));
    }
    this.client.experience.wrong.push('a customer gave up');
    return undefined;
  }
}

export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, delayMs)));
}
