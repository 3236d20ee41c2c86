import { type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { makeOrHangUp, openRedis, PATIENT, type RedisAddress } from '../../redis/redis';
import { withTimeLimit } from '../../time-limit';

/** What a job carries: its id is the alarm's id. */
export interface AlarmData {
  readonly atMs: number;
}

export interface AlarmWorkerOptions {
  readonly redis: RedisAddress;
  readonly prefix: string;
  readonly queueName: string;
  readonly concurrency: number;
  readonly onError: (error: Error) => void;
}

/** What is done with what it takes. */
export interface AlarmWorkerHandlers {
  readonly process: (job: Job<AlarmData>, token: string | undefined) => Promise<void>;
  readonly completed: (job: Job<AlarmData>) => void;
  readonly failed: (job: Job<AlarmData> | undefined) => void;
  /** One error follows the other: it must be made to wait before this call returns. */
  readonly failing: () => void;
}

/** BullMQ sleeps so long after a connection error; its default of 15 s is 15 s of late rings. */
const RUN_RETRY_DELAY_MS = 250;
/**
 * After all other errors BullMQ asks again at once: thousands of times a second where Redis refuses,
 * and where ioredis itself refuses, without ever letting this process do anything else.
 */
const MOST_ERRORS = 3;
const COUNTED_FOR_MS = 500;
/**
 * An alarm that Redis has given to somebody who never heard of it (a cut line, a kill) is given to
 * another after so long, or twice that. BullMQ's own 30 s are for work that takes longer than a ring.
 */
const HELD_MS = 5_000;
/** Then BullMQ takes it for the job that kills its workers; an alarm never is. */
const MOST_STALLS = 10;
/** What is due for longer should have been taken. */
const OVERDUE_MS = 1_000;
/** BullMQ sorts delayed jobs by their instant times this, plus a number within the millisecond. */
const SCORES_PER_MS = 0x1000;

/** One BullMQ worker and its connections. */
export class AlarmWorker {
  readonly #connection: Redis;
  readonly bullmq: Worker<AlarmData>;
  /** BullMQ makes the connection it blocks on by `duplicate`, and hands it to nobody. */
  readonly #copies: Redis[] = [];
  #isSilent = false;
  #errors = 0;

  constructor(
    private readonly options: AlarmWorkerOptions,
    { process, completed, failed, failing }: AlarmWorkerHandlers,
  ) {
    const { redis, prefix, queueName, concurrency } = options;
    const onError = (error: Error): void => {
      if (!this.#isSilent) options.onError(error);
    };
    this.#connection = openRedis(redis, PATIENT, onError);
    const duplicate = this.#connection.duplicate.bind(this.#connection);
    this.#connection.duplicate = (...args) => {
      const copy = duplicate(...args);
      // Ours outlives BullMQ's own listener, which a closing worker takes away too early.
      copy.on('error', onError);
      this.#copies.push(copy);
      return copy;
    };
    const ofBullmq = {
      connection: this.#connection,
      prefix,
      concurrency,
      runRetryDelay: RUN_RETRY_DELAY_MS,
      lockDuration: HELD_MS,
      stalledInterval: HELD_MS,
      maxStalledCount: MOST_STALLS,
    };
    const make = (): Worker<AlarmData> => new Worker(queueName, process, ofBullmq);
    this.bullmq = makeOrHangUp(make, () => this.#hangUp());
    this.bullmq.on('error', (error) => {
      onError(error);
      if (this.#errors === 0) setTimeout(() => (this.#errors = 0), COUNTED_FOR_MS).unref();
      this.#errors += 1;
      if (this.#errors >= MOST_ERRORS && !this.#isSilent) failing();
    });
    this.bullmq.on('failed', (job, error) => {
      failed(job);
      onError(error);
    });
    this.bullmq.on('completed', completed);
  }

  get isConnected(): boolean {
    return this.#connection.status === 'ready';
  }

  reconnect(): void {
    if (this.isConnected) this.#connection.disconnect(true);
  }

  /** How many alarms should have been taken by somebody; none where an operator has paused the queue. */
  async overdue(): Promise<number> {
    const { prefix, queueName } = this.options;
    const key = (name: string): string => `${prefix}:${queueName}:${name}`;
    const until = (Date.now() - OVERDUE_MS) * SCORES_PER_MS;
    const [delayed, waiting, isPaused] = await Promise.all([
      this.#connection.zcount(key('delayed'), '-inf', until),
      this.#connection.llen(key('wait')),
      this.#connection.hexists(key('meta'), 'paused'),
    ]);
    return isPaused ? 0 : delayed + waiting;
  }

  /** From now on nobody is told what goes wrong. */
  silence(): void {
    this.#isSilent = true;
  }

  /** In bounded time. What it has taken and not done is given to another, as after a kill. */
  async close(limitMs: number): Promise<void> {
    try {
      await withTimeLimit(this.bullmq.close(true), limitMs, 'BullMQ did not close');
    } finally {
      this.#hangUp();
    }
  }

  #hangUp(): void {
    for (const client of [this.#connection, ...this.#copies]) client.disconnect();
  }
}
