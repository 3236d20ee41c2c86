/** What `@lastcall/timeout/postgres` offers: alarms in Postgres. Without `redis` it is chosen by itself. */
export type { Clock } from './clock';
export { PostgresDriver, type PostgresDriverOptions } from './drivers/postgres/postgres.driver';
