import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { DataSource } from 'typeorm';
import type { Drain } from '../draining/drain';
import { addCounts, type DrainCounts, noCounts } from '../draining/drain-counts';
import { every } from '../every';
import { failpoint } from '../failpoint';
import { EVERYTHING_MS, LowWater } from '../deadlines/low-water';
import { pause } from '../pause';
import { SERVICE_LEVEL_MS } from '../service-level';
import type { TimeoutTelemetry } from '../telemetry';
import {
  LEASE_MS,
  type Shard,
  type ShardHolder,
  type ShardReport,
  SweepShards,
} from './sweep-shards';

export interface ShardedSweepOptions {
  /** Into how many shards what is overdue of each kind is cut. */
  readonly shards: number;
  /** Leaves off after the batches under way; the workers go on with what is left. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (report: ShardedSweepReport) => void;
}

export interface ShardedSweepReport extends DrainCounts {
  readonly runId: string;
  readonly begunAt: Date;
  readonly tookMs: number;
  readonly oldestLagMs: number;
  /** How many were overdue as the run began. */
  readonly due: number;
  /** Of these still there in shards that have ended. */
  readonly left: number;
  readonly hasEnded: boolean;
  /** Everything overdue was to be handled within {@link SERVICE_LEVEL_MS} of the run's beginning. */
  readonly isWithinServiceLevel: boolean;
  readonly shards: readonly ShardReport[];
}

/** Somebody may hold rows of a shard. When nothing has moved for so long it ends without these. */
const STUCK_MS = 10_000;
const RETRY_MS = 250;
const LOOK_MS = 500;

/**
 * Sweeps what is overdue by shards, over every process that takes part: who has nothing to do takes
 * the next, and takes over what a dead one has left as its lease runs out. While a run is under way,
 * rings and sweeps leave to it what was overdue as it began, so that its report tells of all of it.
 * Should nobody be at it, they take that as well: a lease decides who works, and never who wins.
 */
export class ShardedSweep {
  readonly #holder: ShardHolder = { id: randomUUID(), name: `${hostname()}:${process.pid}` };
  readonly #stopping = new AbortController();
  readonly #shards: SweepShards;
  #underWay: ReadonlyMap<string, number> = new Map();

  constructor(
    dataSource: DataSource,
    private readonly drains: ReadonlyMap<string, Drain>,
    private readonly telemetry: TimeoutTelemetry,
    private readonly stuckMs = STUCK_MS,
  ) {
    this.#shards = new SweepShards(dataSource);
  }

  /** What of this kind is due before is left to the run under way: nothing when there is none. */
  leftToRunMs(kind: string): number {
    return this.#underWay.get(kind) ?? EVERYTHING_MS;
  }

  /** Looks for a run under way, of whichever process; to be asked every second. */
  async look(): Promise<void> {
    this.#underWay = await this.#shards
      .underWay([...this.drains.keys()])
      .catch((error: unknown) => {
        this.#underWay = new Map();
        throw error;
      });
  }

  /** Works on shards of the run under way until no more can be had; at once when there is none. */
  async takePart(): Promise<void> {
    if (this.#underWay.size > 0)
      await this.#workOn([...this.#underWay.keys()], this.#stopping.signal);
  }

  /** No batch of a shard begins from now on. */
  stop(): void {
    this.#stopping.abort();
  }

  /**
   * Opens a run, takes part in it, and resolves when all its shards have ended, whoever had them.
   * @throws {SweepUnderWayError} while another one is under way
   */
  async run({ shards, signal, onProgress }: ShardedSweepOptions): Promise<ShardedSweepReport> {
    const runId = randomUUID();
    const kinds = [...this.drains.keys()];
    const [begunAt, startedMs] = [new Date(), performance.now()];
    await this.#shards.open(runId, kinds, shards);
    const leaveOff = AbortSignal.any([this.#stopping.signal, ...(signal ? [signal] : [])]);
    const report = async (): Promise<ShardedSweepReport> =>
      summed(await this.#shards.read(runId), {
        runId,
        begunAt,
        tookMs: performance.now() - startedMs,
      });
    const onError = (error: unknown): void => this.telemetry.failed('sharded sweep', error);
    const telling = every(LOOK_MS, async () => onProgress?.(await report()), { onError });
    try {
      for (;;) {
        await this.#workOn(kinds, leaveOff, runId);
        const now = await report();
        if (now.hasEnded || leaveOff.aborted) return now;
        await this.#shards.endOld(runId);
        // Others have the rest; what one of them leaves behind is to be had again.
        await pause(RETRY_MS);
      }
    } finally {
      await telling.stop();
    }
  }

  /** Kinds wait for themselves alone, here as well. */
  async #workOn(kinds: readonly string[], signal: AbortSignal, runId?: string): Promise<void> {
    const works = kinds.map(async (kind) => {
      while (!signal.aborted) {
        const shard = await this.#shards.take(this.#holder, kind, runId);
        if (!shard) return;
        await this.#work(shard, signal);
      }
    });
    for (const work of await Promise.allSettled(works)) {
      if (work.status === 'rejected') throw work.reason;
    }
  }

  async #work(shard: Shard, leaveOff: AbortSignal): Promise<void> {
    const lost = new AbortController();
    const renewing = every(
      LEASE_MS / 5,
      async () => {
        if (!(await this.#shards.renew(shard, this.#holder))) lost.abort();
      },
      { onError: (error) => this.telemetry.failed('lease of a shard', error) },
    );
    const signal = AbortSignal.any([leaveOff, lost.signal]);
    try {
      await failpoint('shard.taken');
      const left = await this.#empty(shard, signal);
      if (left !== undefined) await this.#shards.end(shard, left);
    } finally {
      await renewing.stop();
      // Changes nothing where the shard has ended, or is somebody else's by now.
      await this.#shards.giveBack(shard, this.#holder);
    }
  }

  /** How many are still there though nothing moves; undefined when told to leave off. */
  async #empty(shard: Shard, signal: AbortSignal): Promise<number | undefined> {
    const drain = this.drains.get(shard.kind) as Drain;
    let movedMs = performance.now();
    while (!signal.aborted) {
      const { found, failed } = await drain.runShard({
        runId: shard.runId,
        range: shard.range,
        // Of its own, for everything behind it is left to it alone.
        lowWater: new LowWater(shard.range.after.dueAt.getTime()),
        signal,
        keep: (tx, counts, oldestLagMs) => this.#shards.keep(tx, shard, counts, oldestLagMs),
      });
      const left = await this.#shards.countLeft(shard);
      const nowMs = performance.now();
      if (found + failed > 0) movedMs = nowMs;
      if (left === 0 || drain.isHalted || nowMs - movedMs > this.stuckMs) return left;
      await pause(RETRY_MS);
    }
    return undefined;
  }
}

function summed(
  shards: readonly ShardReport[],
  run: Pick<ShardedSweepReport, 'runId' | 'begunAt' | 'tookMs'>,
): ShardedSweepReport {
  const counts = noCounts();
  for (const shard of shards) addCounts(counts, shard);
  const sumOf = (of: (shard: ShardReport) => number): number =>
    shards.reduce((sum, shard) => sum + of(shard), 0);
  const hasEnded = shards.every(({ state }) => state === 'ended');
  const left = sumOf((shard) => shard.left);
  return {
    ...run,
    ...counts,
    tookMs: Math.round(run.tookMs),
    oldestLagMs: Math.max(0, ...shards.map(({ oldestLagMs }) => oldestLagMs)),
    due: sumOf(({ due }) => due),
    left,
    hasEnded,
    isWithinServiceLevel: hasEnded && left === 0 && run.tookMs <= SERVICE_LEVEL_MS,
    shards,
  };
}
