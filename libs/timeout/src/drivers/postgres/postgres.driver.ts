import { randomUUID } from 'node:crypto';
import { Pool, type PoolConfig } from 'pg';
import type { Clock } from '../../clock';
import { OWN_TYPES } from '../../database/own-types';
import { withTimeLimit } from '../../time-limit';
import type { Alarm, OnRing, Survey, TimerDriver } from '../../timer-driver';
import { AlarmStoreError } from '../alarm-store.error';
import { type AlarmSource, RingLoop } from '../ring-loop';
import { AlarmTable } from './alarm-table';
import { HeadListener } from './head-listener';
import { HeadMark } from './head-mark';
import { POSTGRES_ABILITIES } from './postgres.abilities';
import { type Complete, withDefaults } from '../../with-defaults';

export interface PostgresDriverOptions {
  /** Where the table `alarms` is (its migration is the driver's). Connections are the driver's own. */
  readonly connection: PoolConfig;
  /** Alarms of one queue know nothing of another's. */
  readonly queue: string;
  /** "Now" by the database. */
  readonly databaseClock: Clock;
  /** Told of every error that reaches no caller. */
  readonly onError: (error: Error) => void;
  /** `arm`, `disarm` and `survey` give up when Postgres is silent for so long. Below 2 s. */
  readonly callTimeoutMs?: number | undefined;
  /** An alarm that was taken and not rung to its end rings again after so long. */
  readonly leaseMs?: number | undefined;
  /** False: heads are polled from the start, as where notifications do not come through. */
  readonly listen?: boolean | undefined;
}

const DEFAULTS = { callTimeoutMs: 1_500, leaseMs: 30_000, listen: true } as const;
/** One to arm, one to take, one to forget; they are opened when they are used. */
const CONNECTIONS = 3;
/** What others arm is heard of; this is for clocks that are set, and for news that got lost. */
const HEARING_POLL_MS = 1_000;
/** What others arm is not heard of: how late a new head may be. */
const DEAF_POLL_MS = 200;
const CHUNK = 1_000;
const GOODBYE_LIMIT_MS = 500;

/**
 * Alarms as rows of a narrow table, leased with SKIP LOCKED by those that ring. Each of them
 * sleeps until the first alarm is due; of one that is armed before all others they are notified,
 * and only of such, because a notification makes commits wait for each other.
 */
export class PostgresDriver implements TimerDriver {
  readonly name = 'postgres';
  readonly abilities = POSTGRES_ABILITIES;
  readonly #pool: Pool;
  readonly #table: AlarmTable;
  readonly #loop: RingLoop;
  readonly #listener: HeadListener;
  readonly #options: Complete<PostgresDriverOptions>;
  /** Names this process' leases. */
  readonly #lease = randomUUID();
  #stopping: Promise<void> | undefined;

  constructor(options: PostgresDriverOptions) {
    this.#options = withDefaults(DEFAULTS, options);
    const { connection, queue, databaseClock, onError, callTimeoutMs, leaseMs } = this.#options;
    const limits = { connectionTimeoutMillis: 1_000, query_timeout: callTimeoutMs };
    const limited = { ...connection, ...limits, types: OWN_TYPES };
    this.#pool = new Pool({ ...limited, max: CONNECTIONS });
    this.#pool.on('error', onError);
    const mark = new HeadMark(databaseClock);
    this.#table = new AlarmTable(this.#pool, queue, leaseMs, mark);
    this.#listener = new HeadListener({
      connection: limited,
      queue,
      notify: (channel, payload) =>
        this.#pool.query('SELECT pg_notify($1, $2)', [channel, payload]),
      onHead: (atMs) => {
        mark.lower(atMs);
        this.#loop.lookAt(atMs);
      },
      onError,
    });
    this.#loop = new RingLoop(this.#source(), {
      clock: databaseClock,
      onError,
      longestWaitMs: () => (this.#listener.isHearing ? HEARING_POLL_MS : DEAF_POLL_MS),
    });
  }

  /** Resolves at once, also while Postgres is away: ringing begins when it is there. */
  async start(onRing: OnRing): Promise<void> {
    this.#refuseIfStopped();
    if (this.#loop.isStarted) return;
    if (this.#options.listen) this.#listener.start();
    this.#loop.start(onRing);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async arm(alarms: readonly Alarm[]): Promise<void> {
    for (let start = 0; start < alarms.length; start += CHUNK) {
      await this.#ask(() => this.#table.arm(alarms.slice(start, start + CHUNK)));
    }
    // Ours to ring as well, and sooner known than heard.
    for (const { at } of alarms) this.#loop.lookAt(at.getTime());
  }

  async disarm(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#ask(() => this.#table.disarm(ids));
  }

  async survey(): Promise<Survey> {
    const generation = await this.#ask(() => this.#table.generation());
    return { generation, alarms: () => this.#table.alarms() };
  }

  #source(): AlarmSource {
    return {
      take: async (nowMs, limit) => {
        const headMs = await this.#table.head();
        if (headMs > nowMs) return { due: [], nextAtMs: headMs };
        const due = await this.#table.take(nowMs, limit, this.#lease);
        return { due, nextAtMs: await this.#table.head() };
      },
      forget: (rung) =>
        this.#table.forget(
          rung.map(({ id }) => id),
          this.#lease,
        ),
      putBack: (again) => {
        const nowMs = this.#options.databaseClock.nowMs();
        return this.#table.putBack(
          again.map(({ alarm: { id }, inMs }) => ({ id, at: new Date(nowMs + inMs) })),
          this.#lease,
        );
      },
    };
  }

  async #ask<T>(call: () => Promise<T>): Promise<T> {
    this.#refuseIfStopped();
    try {
      // Waiting for a connection and for an answer are limited each; together they are here.
      const limitMs = this.#options.callTimeoutMs + 200;
      return await withTimeLimit(call(), limitMs, 'Postgres did not answer');
    } catch (error) {
      throw new AlarmStoreError('The alarm store (Postgres) did not take a call', error);
    }
  }

  async #stop(): Promise<void> {
    await this.#loop.stop();
    this.#listener.stop();
    const ended = withTimeLimit(this.#pool.end(), GOODBYE_LIMIT_MS, 'No goodbye');
    // Postgres is away or silent; there is nobody to take leave of.
    await ended.catch(() => undefined);
  }

  #refuseIfStopped(): void {
    if (this.#stopping) throw new AlarmStoreError('The postgres driver was stopped');
  }
}
