import type {
  BeforeApplicationShutdown,
  OnApplicationBootstrap,
  OnApplicationShutdown,
  OnModuleInit,
} from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { closePool } from '../close-pool';
import { DatabaseClock } from '../database-clock';
import { LazilyLoadedError } from '../errors';
import { drainConnections, drainDefaults } from '../drain-options';
import { every, type Turns } from '../every';
import { forgetHeld, nameSubjects } from '../held-deadlines';
import { drainersHere } from '../pace';
import { sweepDefaults, type SweepOptions } from '../sweep';
import { defaultTimerDriver, timerDriverKind } from '../drivers/registry';
import { NoopLock } from '../locks/noop.lock';
import { onceBack } from '../once-back';
import { onceFree } from '../once-free';
import { withOwnSessions } from '../pooler';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';
import { TimeoutRun } from '../timeout-run';
import type { TimeoutParts } from '../timeout-options';
import { TimeoutService } from '../timeout.service';
import { queryRows } from '../query-rows';
import type { Transaction } from '../transaction';
import type { TimerDriver } from '../timer-driver';
import { AnsweredLock } from './answered-lock';
import { checkOptions } from './check-options';
import { findPlace, type Place } from './connections';
import type { Tx } from './deadline-handler.decorator';
import { assertFoundInTime, findHandlers, type FoundHandler, madeHandler } from './find-handlers';
import { brakeOf, warnOfUnhandled } from './host-brake';
import { HostHandler } from './host-handler';
import { inHostTransaction } from './host-transactions';
import { installationName } from './installation-name';
import { assertLoadedAtBoot, witnessToken } from './loaded-at-boot';
import { loggedTelemetry } from './logged-telemetry';
import { migratePlace, type Migrations } from './migrate-timeouts';
import { withDeadlineTables } from './missing-deadline-tables';
import { namedTelemetry } from './named-telemetry';
import { refusedStart } from './refused-start';
import { soundTelemetry } from './sound-telemetry';
import type { TimeoutModuleOptions } from './timeout-options';
import { Timeouts } from './timeouts';

/** Whoever has found its place has spoken with Postgres. */
const FOUND = { wasThere: true };
const GRANULARITY_MS = 100;
const HORIZON_MS = 900_000;
const SWEEP_INTERVAL_MS = 10_000;
const ARMING_CONNECTIONS = 4;
/** What is held no more is seen by nobody meanwhile: it only has its row. */
const FORGET_HELD_MS = 60_000;
/** As it starts, a process has enough to ask. */
const FORGET_HELD_FIRST_MS = 1_000;

/** What a runtime is made of. */
interface RuntimeParts {
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

  private constructor(private readonly made: RuntimeParts) {
    this.service = made.service;
    this.timeouts = new Timeouts(made.service, this.#dataSource, this.schema);
    this.#run = new TimeoutRun(made.service, made.core);
  }

  static async open(
    name: string,
    given: TimeoutModuleOptions,
    discovery: DiscoveryService,
  ): Promise<TimeoutRuntime> {
    const options = checkOptions(given);
    const { schema = 'lastcall', role = 'ring', drainers = drainersHere() } = options;
    const telemetry = soundTelemetry(
      options.telemetry ?? loggedTelemetry(),
      silentTelemetry,
      'Timeouts',
    );
    const ring = role === 'ring';
    const unrung = 'its deadlines would never ring';
    if (ring) assertLoadedAtBoot(discovery, witnessToken(name), 'TimeoutModule', unrung);
    const find = (): readonly FoundHandler[] => (ring ? findHandlers(discovery, name) : []);
    const handlers = find();
    const kinds = handlers.map(({ mark }) => mark.kind);
    const { place, dataSource } = await openFirst(options, schema);
    const ringing = drainConnections(kinds.length, drainers);
    const openRing = () => place.open({ name: 'lastcall ring', connections: ringing });
    const drainDataSource = ring ? await onceBack(openRing, FOUND) : dataSource;
    const clock = new DatabaseClock(drainDataSource);
    const driver = await driverOf(options, schema, { clock, dataSource, telemetry });
    const named = namedTelemetry(telemetry, (ids) => nameSubjects(statements(dataSource), ids));
    const lockFailed = (error: unknown): void => named.failed('lock', error);
    const lock = options.lock ? new AnsweredLock(options.lock, lockFailed) : new NoopLock();
    const parts = { driver, lock, dataSource, drainDataSource, clock, telemetry: named };
    const sweep = { ...sweepDefaults, intervalMs: options.sweepIntervalMs ?? SWEEP_INTERVAL_MS };
    const drain = { ...drainDefaults, drainers };
    const isDriverOfHost = typeof options.driver === 'object';
    const limits = { granularity: GRANULARITY_MS, horizonMs: HORIZON_MS, isDriverOfHost };
    const brake = brakeOf(options.brake, kinds);
    if (ring) warnOfUnhandled(brake, kinds);
    const service = new TimeoutService(parts, { ...limits, kinds, ring, sweep, drain, brake });
    const core = { parts, sweep, ring };
    const made = { options, place, core, service, telemetry, handlers, findAgain: find };
    return new TimeoutRuntime(made);
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

/**
 * The place of its tables, and the connections that arm. Waits for Postgres where that ends their sessions.
 * @throws {MayNotMigrateError}
 * @throws {NoPostgresError}
 * @throws {MissingDeadlineTablesError}
 */
async function openFirst(
  options: TimeoutModuleOptions,
  schema: string,
): Promise<{ place: Place; dataSource: DataSource }> {
  const { postgres, migrate: migrates = true } = options;
  try {
    const place = await onceBack(() => findPlace(postgres, schema, options));
    if (migrates) await migratePlace(place);
    const dataSource = await onceBack(async () => {
      const arming = await place.open({ name: 'lastcall arm', connections: ARMING_CONNECTIONS });
      return withDeadlineTables(await withOwnSessions(arming), schema);
    }, FOUND);
    return { place, dataSource };
  } catch (error) {
    throw refusedStart(error, { postgres, schema, migrates });
  }
}

const statements = (dataSource: DataSource): Pick<Transaction, 'rows'> => ({
  rows: (sql, params) => queryRows(dataSource, sql, params),
});

async function driverOf(
  { driver, redis }: TimeoutModuleOptions,
  schema: string,
  given: { clock: DatabaseClock; dataSource: DataSource; telemetry: TimeoutTelemetry },
): Promise<TimerDriver> {
  if (typeof driver === 'object') return driver;
  const settings = redis === undefined ? {} : { REDIS_URL: redis };
  const { clock: databaseClock, dataSource, telemetry } = given;
  const onError = (error: Error): void => telemetry.failed('timer driver', error);
  const kind = timerDriverKind(driver ?? defaultTimerDriver(settings));
  const isOutside = kind.needs.length > 0;
  const name = () => onceFree(dataSource, () => installationName(dataSource, schema));
  const prefix = isOutside ? await name() : schema;
  return kind.create({ settings, prefix, onError, databaseClock, dataSource });
}
