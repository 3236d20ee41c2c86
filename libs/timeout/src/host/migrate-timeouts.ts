import type { MigrationInterface } from 'typeorm';
import { timerDriverKinds } from '../drivers/registry';
import { Deadlines1763600000000 } from '../migrations/1763600000000-deadlines';
import { NearAndFarDeadlines1763700210000 } from '../migrations/1763700210000-near-and-far-deadlines';
import { StoppedKinds1764160000000 } from '../migrations/1764160000000-stopped-kinds';
import { SweepShards1763930020000 } from '../migrations/1763930020000-sweep-shards';
import { BrakesOfKinds1764140000000 } from '../migrations/1764140000000-brakes-of-kinds';
import { TimeoutBrakes1763600020000 } from '../migrations/1763600020000-timeout-brakes';
import { TimeoutSubjects1763701500000 } from '../migrations/1763701500000-timeout-subjects';
import { Workers1763600010000 } from '../migrations/1763600010000-workers';
import { inMigrationTurn, makeSchema } from '../database/migration-turn';
import { onceBack } from '../database/once-back';
import { runMigrations } from '../database/run-migrations';
import type { Place } from './connections';

const MIGRATIONS = [
  Deadlines1763600000000,
  Workers1763600010000,
  TimeoutBrakes1763600020000,
  NearAndFarDeadlines1763700210000,
  TimeoutSubjects1763701500000,
  SweepShards1763930020000,
  BrakesOfKinds1764140000000,
  StoppedKinds1764160000000,
];

/** What makes the tables of deadlines, and those of the drivers that are known here. */
export const migrationsOfDeadlines = (): Migrations => [
  ...MIGRATIONS,
  ...[...timerDriverKinds().values()].flatMap(({ migrations = [] }) => migrations),
];

/** Tables that others keep beside those of deadlines. */
export type Migrations = readonly (new () => MigrationInterface)[];

/**
 * Brings the tables of deadlines up to date, in their own schema, each migration in one transaction.
 * Safe to repeat, and to run twice at the same time. Waits for Postgres where that ends its session.
 * Returns the names of those that were run now.
 * @throws {PoolerRefusalError}
 * @throws {TransactionPoolingError}
 * @throws {LockedTablesError}
 * @throws {MigrationUnderWayError}
 */
export function migratePlace(place: Place, more: Migrations = []): Promise<string[]> {
  const begun = new Set<string>();
  // Its place has been found, by a connection.
  return onceBack(() => migrate(place, more, begun), { wasThere: true });
}

async function migrate(place: Place, more: Migrations, begun: Set<string>): Promise<string[]> {
  const opened = await place.open({
    name: 'lastcall migrate',
    connections: 2,
    migrations: [...migrationsOfDeadlines(), ...more],
    isLimited: false,
  });
  return inMigrationTurn(opened, async (turn) => {
    await makeSchema(turn, place.schema);
    return runMigrations(opened, {}, begun);
  });
}
