import type { DiscoveryService } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { DatabaseClock } from '../database/database-clock';
import { drainConnections, drainDefaults } from '../draining/drain-options';
import { nameSubjects } from '../deadlines/held-deadlines';
import { drainersHere } from '../draining/pace';
import { sweepDefaults } from '../sweeping/sweep';
import { defaultTimerDriver, timerDriverKind } from '../drivers/registry';
import { NoopLock } from '../locks/noop.lock';
import { onceBack } from '../database/once-back';
import { onceFree } from '../database/once-free';
import { withOwnSessions } from '../database/pooler';
import { silentTelemetry, type TimeoutTelemetry } from '../telemetry';
import { TimeoutService } from '../timeout.service';
import type { TimerDriver } from '../timer-driver';
import { AnsweredLock } from './answered-lock';
import { checkOptions } from './check-options';
import { findPlace, type Place } from './connections';
import { findHandlers, type FoundHandler } from './find-handlers';
import { brakeOf, warnOfUnhandled } from './host-brake';
import { installationName } from './installation-name';
import { assertLoadedAtBoot, witnessToken } from './loaded-at-boot';
import { loggedTelemetry } from './logged-telemetry';
import { migratePlace } from './migrate-timeouts';
import { withDeadlineTables } from './missing-deadline-tables';
import { namedTelemetry } from './named-telemetry';
import { refusedStart } from './refused-start';
import { soundTelemetry } from './sound-telemetry';
import { tellOfOlderTables } from './tell-of-older-tables';
import type { TimeoutModuleOptions } from './timeout-options';
import { statements, TimeoutRuntime } from './timeout-runtime';

/** Whoever has found its place has spoken with Postgres. */
const FOUND = { wasThere: true };
const GRANULARITY_MS = 100;
const HORIZON_MS = 900_000;
const SWEEP_INTERVAL_MS = 10_000;
const ARMING_CONNECTIONS = 4;

/** A set of deadlines by what a host has given, connected and not yet at work. */
export async function openRuntime(
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
    if (!migrates) await tellOfOlderTables(dataSource, schema);
    return { place, dataSource };
  } catch (error) {
    throw refusedStart(error, { postgres, schema, migrates });
  }
}

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
