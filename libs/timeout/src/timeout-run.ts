import { every, type Turns } from './every';
import type { TimeoutOptions, TimeoutParts } from './timeout-options';
import type { TimeoutService } from './timeout.service';
import { WorkerHeartbeat } from './sweeping/worker-heartbeat';

/** How often to look whether a sweep is due: in trouble it is every second. */
const SWEEP_LOOK_MS = 1_000;
/** How often to look for what is late: so much later may be what has lost its alarm. */
const MISSED_LOOK_MS = 250;
/** How often to look whether somebody has begun a sharded sweep. */
const SHARDS_LOOK_MS = 1_000;

/** A service at work: rings and sweeps from `start` to `stop`, unless it only arms. */
export class TimeoutRun {
  #sweeping: readonly Turns[] = [];
  #stopping: Promise<void> | undefined;
  /** The last sweep went through: whoever fails to sweep says nothing. */
  #hasSwept = false;
  readonly #heartbeat: WorkerHeartbeat;

  constructor(
    private readonly timeouts: TimeoutService,
    private readonly options: Pick<TimeoutOptions, 'sweep'> & {
      readonly ring: boolean;
      readonly parts: TimeoutParts;
    },
  ) {
    this.#heartbeat = new WorkerHeartbeat(options.parts.drainDataSource, options.sweep.intervalMs);
  }

  async start(): Promise<void> {
    if (!this.options.ring) return;
    const { telemetry } = this.options.parts;
    const onError = (error: unknown): void => telemetry.failed('sweep', error);
    const { shardedSweep } = this.timeouts;
    // Before anything is claimed: a run under way has what was overdue before us.
    await shardedSweep.look().catch(onError);
    await this.timeouts.start();
    this.#stopping = undefined;
    this.#sweeping = [
      every(SWEEP_LOOK_MS, () => this.#sweepIfDue(), { firstAfterMs: 0, onError }),
      // In turns of their own: a sweep may wait for a store that is silent.
      every(MISSED_LOOK_MS, () => this.timeouts.sweep.takeMissed(), { onError }),
      every(SHARDS_LOOK_MS, () => shardedSweep.look(), { onError }),
      // And again: what a run is told by must be looked at while its shards are worked on.
      every(SHARDS_LOOK_MS, () => shardedSweep.takePart(), { onError }),
    ];
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    this.timeouts.shardedSweep.stop();
    if (this.#sweeping.length > 0) {
      await Promise.all(this.#sweeping.map((turns) => turns.stop()));
      const { telemetry } = this.options.parts;
      const end = this.#heartbeat.end();
      await end.catch((error: unknown) => telemetry.failed('heartbeat', error));
    }
    await this.timeouts.stop();
  }

  async #sweepIfDue(): Promise<void> {
    const { sweep, brake } = this.timeouts;
    const nowMs = performance.now();
    if (!sweep.isDue(nowMs) && !(await brake.isReleased())) {
      sweep.armIfDue(nowMs);
      if (this.#hasSwept && this.#heartbeat.isDue(nowMs)) await this.#beat();
      return;
    }
    this.#hasSwept = false;
    await sweep.begin();
    this.#hasSwept = true;
    await this.#beat();
  }

  #beat(): Promise<void> {
    return this.#heartbeat.beat({
      timerStoreHealthy: this.timeouts.sweep.timerStoreHealthy,
      clockOffsetMs: this.options.parts.clock.offsetMs,
      stoppedKinds: this.timeouts.stoppedKinds,
    });
  }
}
