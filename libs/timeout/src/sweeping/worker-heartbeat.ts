import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { DataSource } from 'typeorm';
import { queryRows } from '../database/query-rows';
import type { StoppedKind } from '../draining/stopped-kinds';

/** A process that rings and sweeps, as it last said of itself. */
export interface WorkerView {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: Date;
  /** After its last sweep that went through, and every ten seconds from then on till the next. */
  readonly sweptAt: Date;
  /** How often it tells of itself: with each sweep, and at least every ten seconds. */
  readonly sweepIntervalMs: number;
  readonly timerStoreHealthy: boolean;
  /** How far the database's clock is ahead of this worker's. */
  readonly clockOffsetMs: number;
  /** How long ago `sweptAt` was, by the database's clock. */
  readonly silentForMs: number;
  /** Kinds that stood still there at `sweptAt`, and for how long they had. */
  readonly stoppedKinds: readonly StoppedKind[];
}

/** What a worker says of itself. */
export type WorkerHealth = Pick<WorkerView, 'timerStoreHealthy' | 'clockOffsetMs' | 'stoppedKinds'>;

/** Rows of workers that are long gone without a goodbye are cleared away. */
const FORGET_AFTER = "interval '1 day'";
/** Nobody has swept in the future: the clock was ahead, and was set back. Who lives says so again. */
const IS_AHEAD = "swept_at > now() + interval '1 minute'";

/** Who sweeps rarely tells of itself between two sweeps: nobody would miss it for hours. */
const BEAT_EVERY_MS = 10_000;

/** What the table can say, 24 days: of a machine that takes it for 1970 it is enough to know that it is wrong. */
const MOST_OFFSET_MS = 2 ** 31 - 1;

/** Tells whoever looks into the database that this worker lives and sweeps. */
export class WorkerHeartbeat {
  readonly #id = randomUUID();
  readonly #startedAt = new Date();
  readonly #everyMs: number;
  #beatAtMs = -Infinity;

  constructor(
    private readonly dataSource: DataSource,
    sweepIntervalMs: number,
  ) {
    this.#everyMs = Math.min(sweepIntervalMs, BEAT_EVERY_MS);
  }

  /** True when it has to be heard before the next sweep, by `performance.now()`. */
  isDue(nowMs: number): boolean {
    return nowMs - this.#beatAtMs >= BEAT_EVERY_MS;
  }

  /** Call it after each sweep that went through, and whenever it is due after one. */
  async beat(health: WorkerHealth): Promise<void> {
    this.#beatAtMs = performance.now();
    await queryRows(
      this.dataSource,
      `WITH forgotten AS (
         DELETE FROM workers WHERE id = ANY (ARRAY(
           SELECT id FROM workers WHERE id <> $1 AND (swept_at < now() - ${FORGET_AFTER} OR ${IS_AHEAD})
              FOR UPDATE SKIP LOCKED)))
       INSERT INTO workers AS w (id, host, pid, started_at, sweep_interval_ms,
                                 timer_store_healthy, clock_offset_ms, stopped_kinds)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (id) DO UPDATE SET swept_at = now(),
         timer_store_healthy = excluded.timer_store_healthy,
         clock_offset_ms = excluded.clock_offset_ms,
         stopped_kinds = excluded.stopped_kinds`,
      [
        this.#id,
        hostname(),
        process.pid,
        this.#startedAt,
        this.#everyMs,
        health.timerStoreHealthy,
        Math.max(-MOST_OFFSET_MS, Math.min(MOST_OFFSET_MS, Math.round(health.clockOffsetMs))),
        JSON.stringify(health.stoppedKinds),
      ],
    );
  }

  /** A goodbye: a worker that was stopped is not missed. */
  async end(): Promise<void> {
    await queryRows(this.dataSource, 'DELETE FROM workers WHERE id = $1', [this.#id]);
  }
}

/** The workers that have not said goodbye, the liveliest first. */
export async function listWorkers(dataSource: DataSource): Promise<WorkerView[]> {
  const rows = await queryRows<WorkerView & { silentForMs: string }>(
    dataSource,
    `SELECT id, host, pid, started_at AS "startedAt", swept_at AS "sweptAt",
            sweep_interval_ms AS "sweepIntervalMs", timer_store_healthy AS "timerStoreHealthy",
            clock_offset_ms AS "clockOffsetMs",
            -- In the tables of an older version there are none.
            coalesce(to_jsonb(w) -> 'stopped_kinds', '[]') AS "stoppedKinds",
            extract(epoch FROM now() - swept_at) * 1000 AS "silentForMs"
       FROM workers w WHERE NOT (${IS_AHEAD}) ORDER BY swept_at DESC`,
  );
  return rows.map((row) => ({ ...row, silentForMs: Math.max(0, Number(row.silentForMs)) }));
}
