import type { Agenda } from './agenda';
import type { Clock } from './clock';
import type { FaultBox } from './faults';
import type { JournalRecord } from './journal';
import { Refusal } from './problem';
import { backoffMs } from './webhook-backoff';
import type { DeliveryStatus, WebhookEvent } from './webhook-event';
import type { WebhookPoster } from './webhook-post';
import { signedHeaders } from './webhook-signature';

/** Enough to keep a receiver on this machine busy, too few to drown it when it comes back. */
const MAX_UNDER_WAY = 32;

/** Finished events are kept to be looked at and sent again, the youngest of them. */
const MAX_FINISHED = 20_000;

interface Attempt {
  readonly event: WebhookEvent;
  /** 0 = this attempt is a mere copy: nothing follows when it fails. */
  readonly number: number;
}

export interface WebhookFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly providerPaymentId?: string | undefined;
}

/** Keeps every event until the merchant has answered with a 2xx, and a while longer. */
export class WebhookOutbox {
  /** Set once the journal is open. */
  record: (records: readonly JournalRecord[]) => Promise<void> = () => Promise.resolve();
  readonly #events = new Map<string, WebhookEvent>();
  readonly #finished = new Set<string>();
  // One iterator for good: a new one would walk over all that was deleted before, each time.
  readonly #oldestFinished = this.#finished.values();
  #ready: Attempt[] = [];
  #nextReady = 0;
  #underWay = 0;
  #stopped = false;

  constructor(
    private readonly poster: WebhookPoster,
    private readonly agenda: Agenda,
    private readonly clock: Clock,
    private readonly faults: FaultBox,
    private readonly key: Buffer,
    /** Where the webhooks go; a test may move it while the sandbox runs. */
    public url: string,
  ) {}

  get pendingCount(): number {
    return this.#events.size - this.#finished.size;
  }

  /** Takes an event in without sending it: it is not durable yet. */
  add(event: WebhookEvent): void {
    this.#events.set(event.id, event);
    if (this.faults.rollDrop()) this.#finish(event, 'dropped');
  }

  dispatch(event: WebhookEvent): void {
    if (event.status !== 'pending') return;
    const { copies, delayMs } = this.faults.planDelivery();
    this.#sendLater({ event, number: 1 }, delayMs);
    for (let copy = 0; copy < copies; copy += 1) this.#sendLater({ event, number: 0 }, delayMs);
  }

  /** Sends an event once more, whatever became of it, and again until it is taken. */
  async resend(id: string, copies: number): Promise<WebhookEvent> {
    const event = this.#events.get(id);
    if (event === undefined) {
      throw new Refusal(404, 'event_not_found', 'There is no webhook with this id.');
    }
    const wasPending = event.status === 'pending';
    event.status = 'pending';
    this.#finished.delete(id);
    await this.record([{ event }]);
    // One that is still pending has its retries already: it must not get a second row of them.
    this.#sendLater({ event, number: wasPending ? 0 : 1 }, 0);
    for (let copy = 0; copy < copies; copy += 1) this.#sendLater({ event, number: 0 }, 0);
    return event;
  }

  /** The youngest first. */
  list({ status, providerPaymentId }: WebhookFilter, limit: number): WebhookEvent[] {
    return [...this.#events.values()]
      .reverse()
      .filter((event) => status === undefined || event.status === status)
      .filter((event) => [undefined, event.providerPaymentId].includes(providerPaymentId))
      .slice(0, limit);
  }

  restore(event: WebhookEvent): void {
    this.#events.set(event.id, event);
    if (event.status === 'pending') this.#finished.delete(event.id);
    else this.#finish(event, event.status);
  }

  *snapshot(): Iterable<JournalRecord> {
    for (const event of this.#events.values()) yield { event };
  }

  /** Sends what was undelivered when the process stopped. */
  resume(): void {
    for (const event of this.#events.values()) {
      if (event.status === 'pending') this.#enqueue({ event, number: 1 });
    }
  }

  stop(): void {
    this.#stopped = true;
    this.poster.close();
  }

  #sendLater(attempt: Attempt, delayMs: number): void {
    if (delayMs === 0) return this.#enqueue(attempt);
    const atMs = this.clock.now() + delayMs;
    attempt.event.nextAttemptAt = new Date(atMs).toISOString();
    this.agenda.schedule(atMs, () => this.#enqueue(attempt));
  }

  #enqueue(attempt: Attempt): void {
    this.#ready.push(attempt);
    this.#pump();
  }

  #pump(): void {
    while (!this.#stopped && this.#underWay < MAX_UNDER_WAY) {
      const attempt = this.#ready[this.#nextReady];
      if (attempt === undefined) {
        this.#ready = [];
        this.#nextReady = 0;
        return;
      }
      this.#nextReady += 1;
      // Retries stop once a copy has been taken; copies are sent on, that is what they are for.
      if (attempt.number > 0 && attempt.event.status !== 'pending') continue;
      this.#underWay += 1;
      void this.#send(attempt).finally(() => {
        this.#underWay -= 1;
        this.#pump();
      });
    }
  }

  async #send({ event, number }: Attempt): Promise<void> {
    event.attempts += 1;
    event.nextAttemptAt = null;
    const headers = signedHeaders(this.key, event.id, event.body, this.clock.now());
    const answer = await this.poster.post(this.url, headers, event.body).catch(asError);
    const failed = answer instanceof Error;
    event.lastStatus = failed ? null : answer.status;
    event.lastError = failed ? answer.message || 'connection failed' : null;
    if (!failed && answer.status >= 200 && answer.status < 300) {
      if (event.status === 'pending') await this.#markDelivered(event);
    } else if (number > 0 && event.status === 'pending' && !this.#stopped) {
      const retryAfter = failed ? undefined : answer.retryAfter;
      const delayMs = backoffMs(number, retryAfter, this.clock.now(), Math.random);
      this.#sendLater({ event, number: number + 1 }, delayMs);
    }
  }

  async #markDelivered(event: WebhookEvent): Promise<void> {
    event.deliveredAt = new Date(this.clock.now()).toISOString();
    event.nextAttemptAt = null;
    this.#finish(event, 'delivered');
    if (!this.#stopped) await this.record([{ event }]);
  }

  #finish(event: WebhookEvent, status: DeliveryStatus): void {
    event.status = status;
    this.#finished.add(event.id);
    if (this.#finished.size <= MAX_FINISHED) return;
    const oldest = this.#oldestFinished.next().value;
    if (oldest === undefined) return;
    this.#finished.delete(oldest);
    this.#events.delete(oldest);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
