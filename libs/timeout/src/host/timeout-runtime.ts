import type {
  BeforeApplicationShutdown,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleInit,
} from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { closePool } from '../database/close-pool';
import { DatabaseClock } from '../database/database-clock';
import { LazilyLoadedError } from '../errors';
import { every, type Turns } from '../every';
import { forgetHeld } from '../deadlines/held-deadlines';
import { type SweepOptions } from '../sweeping/sweep';
import { onceFree } from '../database/once-free';
import { type TimeoutTelemetry } from '../telemetry';
import { TimeoutRun } from '../timeout-run';
import type { TimeoutParts } from '../timeout-options';
import { TimeoutService } from '../timeout.service';
import { queryRows } from '../database/query-rows';
import type { Transaction } from '../database/transaction';
import { type Place } from './connections';
import type { Tx } from './deadline-handler.decorator';
import { assertFoundInTime, type FoundHandler, madeHandler } from './find-handlers';
import { HostHandler } from './host-handler';
import { inHostTransaction } from './host-transactions';
import { migratePlace, type Migrations } from './migrate-timeouts';
import type { TimeoutModuleOptions } from './timeout-options';
import { Timeouts } from './timeouts';

/** What is held no more is seen by nobody meanwhile: it only has its row. */
const FORGET_HELD_MS = 60_000;
/** As it starts, a process has enough to ask. */
const FORGET_HELD_FIRST_MS = 1_000;

/** What a runtime is made of. */
export interface RuntimeParts {
  readonly options: TimeoutModuleOptions;
  readonly place: Place;
  /** What its service and its run were made with. */
  readonly core: {
    readonly parts: TimeoutParts;
    readonly sweep: SweepOptions;
    /** False where others ring, and it only arms. */
    readonly ring: boolean;
  };
  readonly service: TimeoutService;
  readonly telemetry: TimeoutTelemetry;
  readonly handlers: readonly FoundHandler[];
  /** Those that are there once all modules are. */
  readonly findAgain: () => readonly FoundHandler[];
}

/** One set of deadlines at work, for as long as the application is. */
export class TimeoutRuntime
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly service: TimeoutService;
  readonly timeouts: Timeouts;
  readonly #run: TimeoutRun;
  #forgetting: Turns | undefined;
  #isStarted = false;

  constructor(private readonly made: RuntimeParts) {
    this.service = made.service;
    this.timeouts = new Timeouts(made.service, this.#dataSource, this.schema);
    this.#run = new TimeoutRun(made.service, made.core);
  }

  /** The schema that our tables are in, to be spelt out in the host's transactions. */
  get schema(): string {
    return this.made.place.schema;
  }

  /** True where it rings; false where others do, and it only arms. */
  get rings(): boolean {
    return this.made.core.ring;
  }

  /** The database's. */
  get clock(): DatabaseClock {
    return this.made.core.parts.clock;
  }

  /** What arms in transactions of others. */
  get #dataSource(): DataSource {
    return this.made.core.parts.dataSource;
  }

  /** What works in the background: a pool of its own where it rings. */
  get #drainDataSource(): DataSource {
    return this.made.core.parts.drainDataSource;
  }

  /** All of its connections. */
  get pools(): readonly DataSource[] {
    return [...new Set([this.#dataSource, this.#drainDataSource])];
  }

  get #kinds(): string[] {
    return this.made.handlers.map(({ mark }) => mark.kind);
  }

  get #paths(): { readonly own: string; readonly host: string } {
    return { own: this.schema, host: this.made.place.hostPath };
  }

  /** One statement of background work, by connections that customers do not wait for where it rings. */
  rows<Row>(sql: string, params: readonly unknown[]): Promise<Row[]> {
    return queryRows<Row>(this.#drainDataSource, sql, params);
  }

  /**
   * For a module whose handlers have to be found as this starts; where it only arms there are none to be found.
   * @throws {LazilyLoadedError} once it has
   */
  assertNotStarted(module: string): void {
    if (this.#isStarted && this.rings)
      throw new LazilyLoadedError(module, 'its deadlines would never be handled');
  }

  /** More tables beside those of deadlines, unless somebody else migrates. */
  async addTables(migrations: Migrations): Promise<void> {
    const { options, place } = this.made;
    if (options.migrate ?? true) await migratePlace(place, migrations);
  }

  /** A transaction as handlers are given, outside of any deadline; the contract is `inTransaction`'s. */
  inHostTransaction<T>(work: (tx: Tx) => Promise<T>, lockLimit?: string): Promise<T> {
    const hookFailed = (error: unknown): void => this.made.telemetry.failed('afterCommit', error);
    const options = { hookFailed, lockLimit };
    return inHostTransaction(this.#dataSource, this.#paths.host, work, options);
  }

  async onModuleInit(): Promise<void> {
    this.#isStarted = true;
    const { options, telemetry, handlers, findAgain } = this.made;
    assertFoundInTime(handlers, findAgain());
    const locks = options.lock !== undefined;
    for (const found of handlers) {
      const { mark } = found;
      const handler = new HostHandler(mark, madeHandler(found), this.#paths, telemetry, locks);
      this.service.handle(mark.kind, handler);
    }
    const tellOf = (kinds: readonly string[]) => this.timeouts.ofHosts(kinds);
    if (this.rings) await this.service.assertAllHandled(tellOf);
  }

  async onApplicationBootstrap(): Promise<void> {
    // Now the order module of the same application has made its tables.
    await onceFree(this.#dataSource, () => this.timeouts.assertFree(this.#kinds));
    await this.#run.start();
    if (this.rings) this.#forgetting = this.#forgetHeld();
  }

  #forgetHeld(): Turns {
    const sql = statements(this.#drainDataSource);
    const onError = (error: unknown): void => this.made.telemetry.failed('held deadlines', error);
    const firstAfterMs = FORGET_HELD_FIRST_MS;
    // Those of orders that have come since have no subjects.
    const forget = async () => forgetHeld(sql, await this.timeouts.ofHosts(this.#kinds));
    return every(FORGET_HELD_MS, forget, { firstAfterMs, onError });
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#forgetting?.stop();
    await this.#run.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.pools.map(closePool));
  }
}

/** One after the other, of no transaction. */
export const statements = (dataSource: DataSource): Pick<Transaction, 'rows'> => ({
  rows: (sql, params) => queryRows(dataSource, sql, params),
});
