import { DelayedError, type Job } from 'bullmq';
import { TimeLimitError, withTimeLimit } from '../../time-limit';
import type { Alarm, OnRing } from '../../timer-driver';
import { type AlarmData, AlarmWorker, type AlarmWorkerOptions } from './alarm-worker';

export interface BullmqRingerOptions extends AlarmWorkerOptions {
  readonly stopTimeoutMs: number;
  /** How often is looked whether the worker still takes what is due. */
  readonly lookEveryMs: number;
  /** Arms an alarm that has rung too early, to ring after so long. */
  readonly armAgain: (alarm: Alarm, inMs: number) => Promise<void>;
}

/** So long BullMQ has to wait that would ask again and again at once. */
const FAILING_PAUSE_MS = 500;
const LOOK_LIMIT_MS = 5_000;
/** What `stop` grants Redis to take note of the last rings. */
const FAREWELL_LIMIT_MS = 1_000;

/**
 * The half of the driver that rings: a BullMQ worker, from construction until `stop`. After Redis
 * was away a worker may stay silent for ever: one that takes nothing of what is due is replaced.
 *
 * BullMQ ignores an id as long as it knows its job, so the job has to be gone before its alarm
 * rings: the ring begins when Redis has taken note that the job is done. A process that dies in
 * its ring loses it, which costs nothing: BullMQ would repeat it within 10 s, a sweep comes first.
 */
export class BullmqRinger {
  #worker: AlarmWorker;
  readonly #watch: NodeJS.Timeout;
  /** Calls of `onRing` under way. */
  readonly #rings = new Set<Promise<unknown>>();
  /** Jobs that we have taken, and of which Redis has not taken note yet. */
  readonly #unacknowledged = new Set<string>();
  /** Jobs that wait until fewer rings are under way. */
  #waiting: (() => void)[] = [];
  #stopping = false;
  #resuming: NodeJS.Timeout | undefined;
  /** Jobs that were taken since it was last looked. */
  #taken = 0;
  /** So often in a row something was due that nobody took. */
  #missed = 0;
  #looking = false;

  constructor(
    private readonly options: BullmqRingerOptions,
    private readonly onRing: OnRing,
  ) {
    this.#worker = this.#open();
    this.#watch = setInterval(() => void this.#look(), options.lookEveryMs);
    this.#watch.unref();
  }

  /**
   * Takes no new alarms, waits for rings under way, then for Redis to note them, each in bounded
   * time: it returns also when Redis is gone. BullMQ's own graceful close would not.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#watch);
    clearTimeout(this.#resuming);
    for (const goOn of this.#waiting.splice(0)) goOn();
    await this.#worker.bullmq.pause(true);
    // What Redis notes until then still rings, here and now: it is armed nowhere any more.
    await this.#acknowledged();
    await withTimeLimit(
      this.#ringsEnded(),
      this.options.stopTimeoutMs,
      'Rings under way did not end',
    ).catch(this.options.onError);
    await this.#worker.close(FAREWELL_LIMIT_MS).catch(this.options.onError);
  }

  #open(): AlarmWorker {
    return new AlarmWorker(this.options, {
      process: (job, token) => this.#process(job, token),
      completed: (job) => this.#ring(job),
      failed: (job) => this.#unacknowledged.delete(job?.id ?? ''),
      failing: () => void this.#wait(),
    });
  }

  /** Done as soon as there is room for its ring. */
  async #process(job: Job<AlarmData>, token: string | undefined): Promise<void> {
    while (this.#rings.size >= this.options.concurrency && !this.#stopping) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    // Fetched, or kept waiting, while we were stopped: back with it, for another process.
    if (this.#stopping) return this.#putOff(job, token);
    this.#taken += 1;
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
      this.#worker.bullmq.on('completed', check);
      this.#worker.bullmq.on('failed', check);
    });
    // If Redis does not take note, another worker rings these alarms. A sweep is there before.
    await withTimeLimit(done, FAREWELL_LIMIT_MS, 'Redis took no note of the last rings').catch(
      this.options.onError,
    );
  }

  async #wait(): Promise<void> {
    // It is not silent, and another would fail as well.
    this.#missed = 0;
    const { bullmq } = this.#worker;
    if (this.#stopping || this.#resuming) return;
    this.#resuming = setTimeout(() => {
      this.#resuming = undefined;
      if (!this.#stopping) void bullmq.resume();
    }, FAILING_PAUSE_MS);
    // `true`: rings under way go on.
    await bullmq.pause(true);
  }

  /** Not while the connection is away: it comes back by itself. */
  async #look(): Promise<void> {
    const worker = this.#worker;
    if (this.#looking || !worker.isConnected) return;
    this.#looking = true;
    try {
      const asking = worker.overdue();
      const overdue = await withTimeLimit(asking, LOOK_LIMIT_MS, 'Redis did not say what is due');
      const taken = this.#taken;
      this.#taken = 0;
      const hasRoom = this.#rings.size < this.options.concurrency;
      this.#missed = overdue > 0 && taken === 0 && hasRoom ? this.#missed + 1 : 0;
      if (this.#missed > 1 && !this.#stopping) this.#replace(worker);
    } catch (error) {
      if (this.#stopping) return;
      this.options.onError(error as Error);
      // A peer that vanished without a word (a network cut) is noticed by TCP after minutes only.
      if (error instanceof TimeLimitError) worker.reconnect();
    } finally {
      this.#looking = false;
    }
  }

  #replace(silent: AlarmWorker): void {
    this.options.onError(new Error('BullMQ took no alarm although some were due: it begins anew'));
    clearTimeout(this.#resuming);
    this.#resuming = undefined;
    this.#missed = 0;
    this.#unacknowledged.clear();
    silent.silence();
    this.#worker = this.#open();
    // There may be nothing left to close.
    void silent.close(FAREWELL_LIMIT_MS).catch(() => undefined);
  }
}
