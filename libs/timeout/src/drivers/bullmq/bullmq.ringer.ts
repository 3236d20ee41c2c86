import { DelayedError, Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { openRedis, PATIENT, type RedisAddress } from '../../redis';
import { withTimeLimit } from '../../time-limit';
import type { Alarm, OnRing } from '../../timer-driver';

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
  /** Arms an alarm that has rung too early, to ring after so long. */
  readonly armAgain: (alarm: Alarm, inMs: number) => Promise<void>;
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
/**
 * An alarm that Redis has given to somebody who never heard of it (a cut line, a kill) is given to
 * another after so long, or twice that. BullMQ's own 30 s are for work that takes longer than a ring.
 */
const HELD_MS = 5_000;
/** Then BullMQ takes it for the job that kills its workers; an alarm never is. */
const MOST_STALLS = 10;
/** What `stop` grants Redis to take note of the last rings. */
const FAREWELL_LIMIT_MS = 1_000;

/**
 * The half of the driver that rings: one BullMQ worker, from construction until `stop`.
 *
 * BullMQ ignores an id as long as it knows its job, so the job has to be gone before its alarm
 * rings: the ring begins when Redis has taken note that the job is done. A process that dies in
 * its ring loses it, which costs nothing: BullMQ would repeat it within 10 s, a sweep comes first.
 */
export class BullmqRinger {
  readonly #connection: Redis;
  /** BullMQ makes the connection it blocks on by `duplicate`, and hands it to nobody. */
  readonly #copies: Redis[] = [];
  readonly #worker: Worker<AlarmData>;
  readonly #watch: NodeJS.Timeout;
  /** Calls of `onRing` under way. */
  readonly #rings = new Set<Promise<unknown>>();
  /** Jobs that we have taken, and of which Redis has not taken note yet. */
  readonly #unacknowledged = new Set<string>();
  /** Jobs that wait until fewer rings are under way. */
  #waiting: (() => void)[] = [];
  #stopping = false;
  #refused: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: BullmqRingerOptions,
    private readonly onRing: OnRing,
  ) {
    const { redis, prefix, queueName, concurrency, onError } = options;
    this.#connection = openRedis(redis, PATIENT, onError);
    const duplicate = this.#connection.duplicate.bind(this.#connection);
    this.#connection.duplicate = (...args) => {
      const copy = duplicate(...args);
      // Ours outlives BullMQ's own listener, which a closing worker takes away too early.
      copy.on('error', onError);
      this.#copies.push(copy);
      return copy;
    };
    this.#worker = new Worker<AlarmData>(queueName, (job, token) => this.#process(job, token), {
      connection: this.#connection,
      prefix,
      concurrency,
      runRetryDelay: RUN_RETRY_DELAY_MS,
      lockDuration: HELD_MS,
      stalledInterval: HELD_MS,
      maxStalledCount: MOST_STALLS,
    });
    this.#worker.on('error', (error) => {
      onError(error);
      if (error.name === 'ReplyError') void this.#waitAfterRefusal();
    });
    this.#worker.on('failed', (job, error) => {
      this.#unacknowledged.delete(job?.id ?? '');
      onError(error);
    });
    this.#worker.on('completed', (job) => this.#ring(job));
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
    for (const goOn of this.#waiting.splice(0)) goOn();
    await this.#worker.pause(true);
    // What Redis notes until then still rings, here and now: it is armed nowhere any more.
    await this.#acknowledged();
    await withTimeLimit(
      this.#ringsEnded(),
      this.options.stopTimeoutMs,
      'Rings under way did not end',
    ).catch(this.options.onError);
    const closed = withTimeLimit(this.#worker.close(true), FAREWELL_LIMIT_MS, 'No close');
    await closed.catch(this.options.onError);
    for (const client of [this.#connection, ...this.#copies]) client.disconnect();
  }

  /** Done as soon as there is room for its ring. */
  async #process(job: Job<AlarmData>, token: string | undefined): Promise<void> {
    while (this.#rings.size >= this.options.concurrency && !this.#stopping) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    // Fetched, or kept waiting, while we were stopped: back with it, for another process.
    if (this.#stopping) return this.#putOff(job, token);
    this.#unacknowledged.add(job.id as string);
  }

  #ring(job: Job<AlarmData>): void {
    const alarm = { id: job.id as string, at: new Date(job.data.atMs) };
    const ring = this.#ringOnce(alarm)
      .catch((error: unknown) =>
        this.options.onError(
          error instanceof Error ? error : new Error(`Ringing ${alarm.id}: ${String(error)}`),
        ),
      )
      .finally(() => {
        this.#rings.delete(ring);
        this.#waiting.shift()?.();
      });
    this.#rings.add(ring);
    this.#unacknowledged.delete(alarm.id);
  }

  async #ringOnce(alarm: Alarm): Promise<void> {
    const again = (await this.onRing([alarm]))?.[0];
    if (again) await this.options.armAgain(alarm, again.inMs);
  }

  async #putOff(job: Job<AlarmData>, token: string | undefined): Promise<never> {
    await job.moveToDelayed(Date.now(), token);
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
    // If Redis does not take note, another worker rings these alarms. A sweep is there before.
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
