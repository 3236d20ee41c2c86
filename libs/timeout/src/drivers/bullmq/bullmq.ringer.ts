import { DelayedError, Worker, type Job } from 'bullmq';
import { Redis, type RedisOptions } from 'ioredis';
import { PATIENT, redisArguments, type RedisAddress } from '../../redis';
import { withTimeLimit } from '../../time-limit';
import type { OnRing } from '../../timer-driver';

/** What a job carries: its id is the alarm's id. */
export interface AlarmData {
  readonly atMs: number;
}

export interface BullmqRingerOptions {
  readonly redis: RedisAddress;
  readonly prefix: string;
  readonly queueName: string;
  readonly concurrency: number;
  readonly stopTimeoutMs: number;
  readonly onError: (error: Error) => void;
}

/** BullMQ sleeps so long after a connection error; its default of 15 s is 15 s of late rings. */
const RUN_RETRY_DELAY_MS = 250;
/**
 * When Redis refuses (it is out of memory, it loads its data) BullMQ asks again at once: thousands
 * of errors a second. So we make it wait.
 */
const REFUSED_PAUSE_MS = 500;
const PING_INTERVAL_MS = 10_000;
const PING_LIMIT_MS = 5_000;
/** What `stop` grants Redis to take note of the last rings. */
const FAREWELL_LIMIT_MS = 1_000;

/** BullMQ makes the connection it blocks on by `duplicate`, and hands it to nobody. */
class ConnectionWithCopies extends Redis {
  readonly copies: Redis[] = [];

  override duplicate(override?: Partial<RedisOptions>): Redis {
    const copy = super.duplicate(override);
    // Ours outlives BullMQ's own listener, which a closing worker takes away too early.
    copy.on('error', (error) => this.emit('error', error));
    this.copies.push(copy);
    return copy;
  }
}

/** The half of the driver that rings: one BullMQ worker, from construction until `stop`. */
export class BullmqRinger {
  readonly #connection: ConnectionWithCopies;
  readonly #worker: Worker<AlarmData>;
  readonly #watch: NodeJS.Timeout;
  /** Calls of `onRing` under way. */
  readonly #rings = new Set<Promise<unknown>>();
  /** Jobs that Redis still believes to be rung by us. */
  readonly #unacknowledged = new Set<string>();
  #stopping = false;
  #refused: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: BullmqRingerOptions,
    private readonly onRing: OnRing,
  ) {
    const { redis, prefix, queueName, concurrency, onError } = options;
    const args = redisArguments(redis, PATIENT);
    this.#connection =
      args.length === 2 ? new ConnectionWithCopies(...args) : new ConnectionWithCopies(...args);
    this.#connection.on('error', onError);
    this.#worker = new Worker<AlarmData>(queueName, (job, token) => this.#process(job, token), {
      connection: this.#connection,
      prefix,
      concurrency,
      runRetryDelay: RUN_RETRY_DELAY_MS,
    });
    this.#worker.on('error', (error) => {
      onError(error);
      if (error.name === 'ReplyError') void this.#waitAfterRefusal();
    });
    this.#worker.on('failed', (job, error) => {
      this.#unacknowledged.delete(job?.id ?? '');
      onError(error);
    });
    this.#worker.on('completed', (job) => this.#unacknowledged.delete(job.id ?? ''));
    this.#watch = setInterval(() => void this.#replaceSilentConnection(), PING_INTERVAL_MS);
    this.#watch.unref();
  }

  /**
   * Takes no new alarms, waits for rings under way, then for Redis to note them, each in bounded
   * time: it returns also when Redis is gone. BullMQ's own graceful close would not.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#watch);
    clearTimeout(this.#refused);
    await this.#worker.pause(true);
    await withTimeLimit(
      this.#ringsEnded(),
      this.options.stopTimeoutMs,
      'Rings under way did not end',
    ).catch(this.options.onError);
    await this.#acknowledged();
    const closed = withTimeLimit(this.#worker.close(true), FAREWELL_LIMIT_MS, 'No close');
    await closed.catch(this.options.onError);
    for (const client of [this.#connection, ...this.#connection.copies]) client.disconnect();
  }

  async #process(job: Job<AlarmData>, token: string | undefined): Promise<void> {
    const id = job.id as string;
    // A fetch that was under way when we were stopped: back with it, for another process.
    if (this.#stopping) return this.#putOff(job, token, 0);
    this.#unacknowledged.add(id);
    const ring = this.onRing({ id, at: new Date(job.data.atMs) });
    this.#rings.add(ring);
    try {
      const answer = await ring;
      if (answer) await this.#putOff(job, token, answer.ringAgainInMs);
    } catch (error) {
      // BullMQ reads `message` of whatever is thrown.
      throw error instanceof Error ? error : new Error(`Ringing ${id} failed: ${String(error)}`);
    } finally {
      this.#rings.delete(ring);
    }
  }

  async #putOff(job: Job<AlarmData>, token: string | undefined, delayMs: number): Promise<never> {
    await job.moveToDelayed(Date.now() + Math.ceil(delayMs), token);
    this.#unacknowledged.delete(job.id as string);
    throw new DelayedError();
  }

  async #ringsEnded(): Promise<void> {
    while (this.#rings.size > 0) await Promise.allSettled(this.#rings);
  }

  async #acknowledged(): Promise<void> {
    if (this.#unacknowledged.size === 0) return;
    const done = new Promise<void>((resolve) => {
      const check = (): void => {
        if (this.#unacknowledged.size === 0) resolve();
      };
      this.#worker.on('completed', check);
      this.#worker.on('failed', check);
    });
    // If Redis does not take note, another worker rings these alarms again. That is allowed.
    await withTimeLimit(done, FAREWELL_LIMIT_MS, 'Redis took no note of the last rings').catch(
      this.options.onError,
    );
  }

  async #waitAfterRefusal(): Promise<void> {
    if (this.#stopping || this.#refused) return;
    this.#refused = setTimeout(() => {
      this.#refused = undefined;
      if (!this.#stopping) void this.#worker.resume();
    }, REFUSED_PAUSE_MS);
    // `true`: rings under way go on.
    await this.#worker.pause(true);
  }

  /** A peer that vanished without a word (a network cut) is noticed by TCP after minutes only. */
  async #replaceSilentConnection(): Promise<void> {
    if (this.#connection.status !== 'ready') return;
    try {
      await withTimeLimit(this.#connection.ping(), PING_LIMIT_MS, 'Redis did not answer a PING');
    } catch (error) {
      if (this.#stopping) return;
      this.options.onError(error as Error);
      if (this.#connection.status === 'ready') this.#connection.disconnect(true);
    }
  }
}
