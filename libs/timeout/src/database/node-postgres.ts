import pg from 'pg';

/**
 * A connection that Postgres ends as it is opened says so before TypeORM listens to it, and what nobody
 * listens to ends the process. Whoever was given it hears by its first statement.
 */
class HearingPool extends pg.Pool {
  constructor(config?: pg.PoolConfig) {
    super(config);
    this.on('connect', (client) => void client.on('error', () => undefined));
  }
}

/**
 * What TypeORM is to connect with. Left to itself it asks for `pg-native`, which we do not have, and then
 * runs whatever has that name in the folder that the process was started in.
 */
export const NODE_POSTGRES = { driver: { Pool: HearingPool }, nativeDriver: false };
