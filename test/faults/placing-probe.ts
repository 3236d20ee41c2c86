import { randomUUID } from 'node:crypto';
import type { Step } from './fault';
import { pause } from './load';

const EVERY_MS = 25;

/** What a customer heard who placed an order, and after how long. */
export interface Placing {
  readonly tookMs: number;
  readonly status: number;
  readonly code: string;
}

/** Orders of products that nobody holds, until `over`. */
export async function probe(step: Step, over: Promise<void>): Promise<Placing[]> {
  let isOver = false;
  void over.then(() => (isOver = true));
  const placing: Promise<Placing>[] = [];
  while (!isOver) {
    placing.push(place(step, placing.length % 2 ? 'TEA-A' : 'TEA-C'));
    await pause(EVERY_MS);
  }
  return Promise.all(placing);
}

/** One order of one product, by a customer of its own. */
export async function place({ client }: Step, sku: string): Promise<Placing> {
  const body = { items: [{ sku, quantity: 1 }] };
  const headers = { 'idempotency-key': randomUUID() };
  const { status, tookMs, body: answer } = await client.api('POST /v1/orders', { body, headers });
  return { status, tookMs, code: String(answer.code ?? '') };
}

/** So long took placing at the most for this share of them, in milliseconds. */
export function at(share: number, placing: readonly Placing[]): number {
  return atOf(
    share,
    placing.map(({ tookMs }) => tookMs),
  );
}

/** The most of this share of them. */
export function atOf(share: number, values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}
