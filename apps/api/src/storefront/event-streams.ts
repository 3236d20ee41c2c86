import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { LastcallError } from '@app/orders';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../auth/caller';
import { Draining } from '../draining';
import { InjectLogger, type Logger } from '../logging/logger';

/** Each holds a socket and a reader of the feed. */
const MAX_STREAMS = 1_000;
const MAX_STREAMS_PER_CUSTOMER = 10;
/** Shorter than the idle limits of proxies, and of our own server (fastify-adapter.ts). */
const HEARTBEAT_MS = 15_000;
/** How soon a client that was cut off comes back. */
const RETRY_MS = 2_000;

export interface StreamedEvent {
  readonly id: string;
  readonly type: string;
}

/** Server-sent events: as many streams as there is room for, each ended when nobody reads it. */
@Injectable()
export class EventStreams {
  readonly #openByCustomer = new Map<string, number>();
  #open = 0;

  constructor(
    private readonly draining: Draining,
    @InjectLogger() private readonly logger: Logger,
  ) {}

  /**
   * Sends what `follow` yields until it ends, the client leaves, the caller's token ends or this
   * process drains. @throws {LastcallError} rate_limited or busy, when there is no room
   */
  async serve(
    reply: FastifyReply,
    caller: Caller,
    follow: (signal: AbortSignal) => AsyncIterable<StreamedEvent>,
  ): Promise<void> {
    const leave = this.#enter(caller.subject);
    try {
      await this.#stream(reply, caller, follow);
    } finally {
      leave();
    }
  }

  #enter(customerId: string): () => void {
    const openHere = this.#openByCustomer.get(customerId) ?? 0;
    if (openHere >= MAX_STREAMS_PER_CUSTOMER) {
      const message = `At most ${MAX_STREAMS_PER_CUSTOMER} streams a customer: close another one`;
      throw new LastcallError('rate_limited', message, { retryAfterSeconds: HEARTBEAT_MS / 1_000 });
    }
    if (this.#open >= MAX_STREAMS) throw new LastcallError('busy', 'Too many streams are open');
    this.#open += 1;
    this.#openByCustomer.set(customerId, openHere + 1);
    return () => {
      this.#open -= 1;
      const left = (this.#openByCustomer.get(customerId) ?? 1) - 1;
      if (left > 0) this.#openByCustomer.set(customerId, left);
      else this.#openByCustomer.delete(customerId);
    };
  }

  async #stream(
    reply: FastifyReply,
    caller: Caller,
    follow: (signal: AbortSignal) => AsyncIterable<StreamedEvent>,
  ): Promise<void> {
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, this.draining.signal]);
    const { raw } = reply.hijack();
    raw.once('close', () => gone.abort());
    const timers = [
      setInterval(() => raw.write(': still here\n\n'), HEARTBEAT_MS),
      setTimeout(() => gone.abort(), untilMs(caller)),
    ];
    try {
      raw.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        // Nginx would collect the events before it passes them on.
        'x-accel-buffering': 'no',
      });
      raw.write(`retry: ${RETRY_MS}\n\n`);
      for await (const event of follow(signal)) {
        if (signal.aborted) break;
        await write(raw, event, signal);
      }
    } catch (error) {
      // The client comes back with the id of the last event it has seen.
      if (!signal.aborted) this.logger.error({ err: error }, 'an event stream was cut off');
    } finally {
      for (const timer of timers) clearInterval(timer);
      raw.end();
    }
  }
}

async function write(
  raw: ServerResponse,
  event: StreamedEvent,
  signal: AbortSignal,
): Promise<void> {
  const frame = `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  if (!raw.write(frame)) await once(raw, 'drain', { signal });
}

/** Timers hold 32 bits of milliseconds; a token that ends later is checked when it reconnects. */
function untilMs({ expiresAtMs }: Caller): number {
  return Math.min(Math.max(expiresAtMs - Date.now(), 0), 2 ** 31 - 1);
}
