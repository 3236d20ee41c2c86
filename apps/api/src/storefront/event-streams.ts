import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { LastcallError } from '@app/orders';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Draining } from '../draining';
import { SECURITY_HEADERS } from '../http/security-headers';
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

/** Whose stream it is, and when their token ends (milliseconds since the epoch). */
export interface StreamReader {
  readonly customerId: string;
  readonly endsAtMs: number;
}

/** Server-sent events: as many streams as there is room for, each ended when nobody reads it. */
@Injectable()
export class EventStreams {
  /** What ends each stream that is open. */
  readonly #open = new Set<AbortController>();
  readonly #openByCustomer = new Map<string, number>();

  constructor(
    private readonly draining: Draining,
    @InjectLogger() private readonly logger: Logger,
  ) {
    draining.signal.addEventListener('abort', () => {
      for (const stream of this.#open) stream.abort();
    });
  }

  /**
   * Sends what `follow` yields until it ends, the client leaves, the reader's token ends or this
   * process drains. @throws {LastcallError} rate_limited or busy, when there is no room
   */
  async serve(
    reply: FastifyReply,
    reader: StreamReader,
    follow: (signal: AbortSignal) => AsyncIterable<StreamedEvent>,
  ): Promise<void> {
    const stream = this.#enter(reader.customerId);
    const timers = [
      setInterval(() => reply.raw.write(': still here\n\n'), HEARTBEAT_MS),
      setTimeout(() => stream.abort(), msUntilTokenEnds(reader)),
    ];
    try {
      await this.#send(reply, stream, follow);
    } finally {
      for (const timer of timers) clearInterval(timer);
      this.#leave(reader.customerId, stream);
      reply.raw.end();
    }
  }

  #enter(customerId: string): AbortController {
    const openHere = this.#openByCustomer.get(customerId) ?? 0;
    if (openHere >= MAX_STREAMS_PER_CUSTOMER) {
      const message = `At most ${MAX_STREAMS_PER_CUSTOMER} streams a customer: close another one`;
      throw new LastcallError('rate_limited', message, { retryAfterSeconds: HEARTBEAT_MS / 1_000 });
    }
    if (this.#open.size >= MAX_STREAMS) {
      throw new LastcallError('busy', 'Too many streams are open; try again soon');
    }
    const stream = new AbortController();
    if (this.draining.isDraining) stream.abort();
    this.#open.add(stream);
    this.#openByCustomer.set(customerId, openHere + 1);
    return stream;
  }

  #leave(customerId: string, stream: AbortController): void {
    this.#open.delete(stream);
    const left = (this.#openByCustomer.get(customerId) ?? 1) - 1;
    if (left > 0) this.#openByCustomer.set(customerId, left);
    else this.#openByCustomer.delete(customerId);
  }

  async #send(
    reply: FastifyReply,
    stream: AbortController,
    follow: (signal: AbortSignal) => AsyncIterable<StreamedEvent>,
  ): Promise<void> {
    const { signal } = stream;
    const { raw } = reply.hijack();
    raw.once('close', () => stream.abort());
    // Whoever has left already closes nothing any more.
    if (raw.destroyed) return;
    raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      ...SECURITY_HEADERS,
      // Nginx would collect the events before it passes them on.
      'x-accel-buffering': 'no',
    });
    raw.write(`retry: ${RETRY_MS}\n\n`);
    try {
      for await (const event of follow(signal)) {
        if (signal.aborted) break;
        await write(raw, event, signal);
      }
    } catch (error) {
      // The client comes back with the id of the last event it has seen.
      if (!signal.aborted) this.logger.error({ err: error }, 'an event stream was cut off');
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
function msUntilTokenEnds({ endsAtMs }: StreamReader): number {
  return Math.min(Math.max(endsAtMs - Date.now(), 0), 2 ** 31 - 1);
}
