import type { PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import type { TimerDriverKind } from '../../timer-driver-kind';
import { Alarms1763700510000 } from './1763700510000-alarms';
import { AlarmsByInstant1764040000000 } from './1764040000000-alarms-by-instant';
import { POSTGRES_ABILITIES } from './postgres.abilities';

export const timer: TimerDriverKind = {
  name: 'postgres',
  summary: 'rows of a narrow table, leased',
  abilities: POSTGRES_ABILITIES,
  defaultRank: 2,
  needs: [],
  migrations: [Alarms1763700510000, AlarmsByInstant1764040000000],
  async create({ dataSource, prefix: queue, databaseClock, onError }) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- only where it is used
    const { PostgresDriver } = require('./postgres.driver') as typeof import('./postgres.driver');
    return new PostgresDriver({ connection: poolOf(dataSource), queue, databaseClock, onError });
  },
};

/**
 * As the data source connects, whatever made it: address, TLS, schema, start-up options. Its own
 * connections are not used: customers may have taken them all, and alarms must not wait for them.
 */
function poolOf({ driver }: DataSource): PoolConfig {
  const { options } = (driver as unknown as { master: { options: PoolConfig } }).master;
  return {
    ...options,
    // The pool keeps it out of sight: a copy does not bring it along.
    ...(options.password === undefined ? {} : { password: options.password }),
    application_name: 'lastcall alarms',
  };
}
