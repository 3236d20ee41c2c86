import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { bytesHeard, FAIL_FAST, makeOrHangUp, openRedis } from '../../redis/redis';
import { TimeLimitError, withTimeLimit } from '../../time-limit';
import type { Alarm, OnRing, Survey, TimerDriver } from '../../timer-driver';
import { AlarmStoreError } from '../alarm-store.error';
import { BULLMQ_ABILITIES } from './bullmq.abilities';
import type { AlarmData } from './alarm-worker';
import { BULLMQ_DEFAULTS, type BullmqDriverOptions } from './bullmq.options';
import { BullmqRinger } from './bullmq.ringer';
import { type Complete, withDefaults } from '../../with-defaults';

/** Jobs in one pipeline: large enough to hide the round trip, small enough to let others in. */
const CHUNK = 500;
/** Alarms read at once by a survey. */
const PAGE = 1_000;
/** BullMQ writes an event for every step of every job. Nobody reads them here. */
const KEPT_EVENTS = 100;
const GOODBYE_LIMIT_MS = 500;

interface AlarmJob extends AlarmData {
  readonly id: string;
  /** From now, in milliseconds. */
  readonly delay: number;
}

/** The connection that arms: it never queues, so that nobody waits long for a Redis that is away. */
interface Producer {
  readonly client: Redis;
  readonly queue: Queue<AlarmData>;
}

/**
 * Alarms as BullMQ delayed jobs: the job's id is the alarm's. A job is removed before it rings,
 * because BullMQ ignores an id that it still remembers (see `BullmqRinger`).
 *
 * Redis compares a job's instant with the clock of the worker that asks, and the instant was
 * written by the clock of the process that armed. The delay between them comes from the
 * database's clock, so only the difference between two application nodes is left as an error: a
 * ring that is early for the database is put off (`ringAgainInMs`), a late one is the sweep's.
 *
 * Connections: one to arm, opened by the first use, and two more while started.
 */
export class BullmqDriver implements TimerDriver {
  readonly name = 'bullmq';
  readonly abilities = BULLMQ_ABILITIES;
  readonly #options: Complete<BullmqDriverOptions>;
  readonly #seen = new WeakSet<Error>();
  #producer: Producer | undefined;
  #ringer: BullmqRinger | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: BullmqDriverOptions) {
    this.#options = withDefaults(BULLMQ_DEFAULTS, options);
  }

  /** Resolves at once, also while Redis is away: ringing begins when it is there. */
  async start(onRing: OnRing): Promise<void> {
    this.#refuseIfStopped();
    this.#ringer ??= new BullmqRinger(
      {
        ...this.#options,
        onError: (error) => this.#report(error),
        // Also while we stop: rings under way are waited for.
        armAgain: (alarm, inMs) =>
          this.#call((producer) => add(producer, [{ ...this.#jobFor(alarm), delay: inMs }])),
      },
      onRing,
    );
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    for (const chunk of chunksOf(alarms)) {
      const jobs = chunk.map((alarm) => this.#jobFor(alarm));
      await this.#ask((producer) => add(producer, jobs));
    }
  }

  async disarm(ids: readonly string[]): Promise<void> {
    for (const chunk of chunksOf(ids)) {
      // Sent without waiting in between, which makes it one pipeline.
      await this.#ask(({ queue }) =>
        Promise.all(chunk.map((id) => queue.remove(id, { removeChildren: false }))),
      );
    }
  }

  async survey(): Promise<Survey> {
    const generation = await this.#ask(({ client }) => this.#generation(client));
    return { generation, alarms: () => this.#alarms() };
  }

  #jobFor({ id, at }: Alarm): AlarmJob {
    const atMs = at.getTime();
    const delay = Math.max(0, Math.ceil(atMs - this.#options.databaseClock.nowMs()));
    return { id, atMs, delay };
  }

  /** A marker that is lost with everything else: by FLUSHALL, by an empty disk, by eviction. */
  async #generation(client: Redis): Promise<string> {
    const { prefix, queueName } = this.#options;
    const key = `${prefix}:${queueName}-generation`;
    await client.set(key, randomUUID(), 'NX');
    const generation = await client.get(key);
    if (generation === null) throw new Error('the marker vanished as soon as it was written');
    return generation;
  }

  async *#alarms(): AsyncGenerator<Alarm> {
    // ZSCAN rather than pages by rank: alarms ringing meanwhile would shift those and hide some.
    let cursor = '0';
    do {
      const [next, pairs] = await this.#ask(({ client, queue }) =>
        client.zscan(queue.toKey('delayed'), cursor, 'COUNT', PAGE),
      );
      cursor = next;
      yield* await this.#read(pairs.filter((_, index) => index % 2 === 0));
    } while (cursor !== '0');
    // Due, but not taken by any worker yet. Read second: jobs move from delayed to here.
    for (const list of ['wait', 'paused']) {
      for (let start = 0; ; start += PAGE) {
        const ids = await this.#ask(({ client, queue }) =>
          client.lrange(queue.toKey(list), start, start + PAGE - 1),
        );
        yield* await this.#read(ids);
        if (ids.length < PAGE) break;
      }
    }
  }

  async #read(ids: readonly string[]): Promise<Alarm[]> {
    if (ids.length === 0) return [];
    const replies = await this.#ask(({ client, queue }) => {
      const pipeline = client.pipeline();
      for (const id of ids) pipeline.hget(queue.toKey(id), 'data');
      return pipeline.exec();
    });
    return ids.flatMap((id, index) => {
      const [error, data] = replies?.[index] ?? [];
      if (error) throw new AlarmStoreError('Reading the alarms failed', error);
      // Gone meanwhile: it has rung or was disarmed.
      if (typeof data !== 'string') return [];
      return [{ id, at: instantIn(data) }];
    });
  }

  async #ask<T>(call: (producer: Producer) => Promise<T>): Promise<T> {
    this.#refuseIfStopped();
    return this.#call(call);
  }

  /** Talks to Redis in bounded time; a connection that went silent is replaced. */
  async #call<T>(call: (producer: Producer) => Promise<T>): Promise<T> {
    const producer = (this.#producer ??= this.#openProducer());
    const { client, queue } = producer;
    const heard = bytesHeard(client);
    try {
      // The first use waits for the connection, every later one fails at once without it.
      const answer = queue.waitUntilReady().then(() => call(producer));
      return await withTimeLimit(answer, this.#options.armTimeoutMs, 'Redis did not answer');
    } catch (error) {
      const silent = error instanceof TimeLimitError && bytesHeard(client) === heard;
      // What piles up behind a silent connection would be sent long after it mattered. A slow one
      // is left alone: a new one would be slower still.
      if (silent && client.status === 'ready') client.disconnect(true);
      throw new AlarmStoreError('The alarm store (Redis) did not take a call', error);
    }
  }

  #openProducer(): Producer {
    const { prefix, queueName, redis } = this.#options;
    const report = (error: Error): void => this.#report(error);
    const client = openRedis(redis, FAIL_FAST, report);
    const options = {
      connection: client,
      prefix,
      // Its INFO would be lost with a connection that breaks just then, and the queue with it.
      skipVersionCheck: true,
      streams: { events: { maxLen: KEPT_EVENTS } },
    };
    const make = (): Producer['queue'] => new Queue<AlarmData>(queueName, options);
    const queue = makeOrHangUp(make, () => client.disconnect());
    queue.on('error', report);
    return { client, queue };
  }

  async #stop(): Promise<void> {
    await this.#ringer?.stop();
    if (!this.#producer) return;
    const { client, queue } = this.#producer;
    await withTimeLimit(client.quit(), GOODBYE_LIMIT_MS, 'Redis did not say goodbye').catch(
      // It is away; there is nobody to take leave of.
      () => client.disconnect(),
    );
    await queue.close();
  }

  /** ioredis and BullMQ pass the same error on along several ways. */
  #report(error: Error): void {
    if (this.#seen.has(error)) return;
    this.#seen.add(error);
    this.#options.onError(error);
  }

  #refuseIfStopped(): void {
    if (this.#stopping) throw new AlarmStoreError('The BullMQ driver was stopped');
  }
}

/** As it was armed; the beginning of time, which no alarm is for, where that is not to be read. */
function instantIn(data: string): Date {
  try {
    const { atMs } = JSON.parse(data) as Partial<AlarmData>;
    return new Date(typeof atMs === 'number' ? atMs : 0);
  } catch {
    return new Date(0);
  }
}

async function add({ queue }: Producer, jobs: readonly AlarmJob[]): Promise<void> {
  await queue.addBulk(
    jobs.map(({ id, atMs, delay }) => ({
      name: 'alarm',
      data: { atMs },
      opts: { jobId: id, delay, removeOnComplete: true, removeOnFail: true },
    })),
  );
}

function* chunksOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += CHUNK) {
    yield items.slice(start, start + CHUNK);
  }
}
