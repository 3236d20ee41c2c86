import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { Client, type PoolConfig } from 'pg';
import { lifting } from '../../database/lift-limits';
import { withTimeLimit } from '../../time-limit';
import { CHANNEL, headNoticeOf } from './alarm-table';

export interface HeadListenerOptions {
  readonly connection: PoolConfig;
  readonly queue: string;
  /** Sends a notification by another connection: what comes back shows that we hear. */
  readonly notify: (channel: string, payload: string) => Promise<unknown>;
  /** An alarm was armed at this instant, before all others; -Infinity: at any, as nobody listened. */
  readonly onHead: (atMs: number) => void;
  readonly onError: (error: Error) => void;
}

/** A notification takes a round trip; a pooler that swallows it never delivers it. */
const ECHO_LIMIT_MS = 1_000;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 1_000;
/** Between us and Postgres is something that lets no notification through: it may be exchanged. */
const DEAF_RETRY_MS = 60_000;

/**
 * One connection that listens for new heads, opened again whenever it is lost. Through a pooler
 * that gives each transaction another connection (PgBouncer) LISTEN is taken and nothing is ever
 * heard, so hearing is tried out before it is relied on.
 */
export class HeadListener {
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #stopped = false;
  /** True while a new head is heard of at once; otherwise somebody has to look often. */
  isHearing = false;

  constructor(private readonly options: HeadListenerOptions) {}

  start(): void {
    void this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.#hangUp();
  }

  async #connect(): Promise<void> {
    const client = new Client(this.options.connection);
    this.#client = client;
    const echo = randomUUID();
    const heard = new Promise<void>((resolve) => {
      client.on('notification', ({ payload = '' }) => {
        if (payload === echo) return resolve();
        const { queue, atMs } = headNoticeOf(payload);
        if (queue === this.options.queue) this.options.onHead(atMs);
      });
    });
    client.on('error', (error) => this.#lost(client, error, this.#nextRetryMs()));
    client.on('end', () => this.#lost(client, undefined, this.#nextRetryMs()));
    try {
      await client.connect();
      await client.query(lifting('idle_session_timeout'));
      await client.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      return this.#lost(client, error as Error, this.#nextRetryMs());
    }
    try {
      await this.options.notify(CHANNEL, echo);
      await withTimeLimit(heard, ECHO_LIMIT_MS, 'No notification came through');
    } catch {
      // Nothing to report: without notifications alarms are looked for more often.
      return this.#lost(client, undefined, DEAF_RETRY_MS);
    }
    if (this.#client !== client) return;
    this.isHearing = true;
    this.#retryMs = FIRST_RETRY_MS;
    // What was armed while nobody listened.
    this.options.onHead(-Infinity);
  }

  #nextRetryMs(): number {
    const retryMs = this.#retryMs;
    this.#retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    return retryMs * (0.5 + Math.random() / 2);
  }

  #lost(client: Client, error: Error | undefined, retryMs: number): void {
    if (this.#client !== client) return;
    this.#hangUp();
    if (this.#stopped) return;
    if (error) this.options.onError(error);
    this.options.onHead(-Infinity);
    this.#retry = setTimeout(() => void this.#connect(), retryMs);
    this.#retry.unref();
  }

  #hangUp(): void {
    const client = this.#client;
    this.#client = undefined;
    this.isHearing = false;
    if (!client) return;
    // Cut, as the other side may be silent: nothing is under way that would be missed.
    client.removeAllListeners('end');
    (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  }
}
