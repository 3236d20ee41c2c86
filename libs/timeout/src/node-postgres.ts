import pg from 'pg';

/**
 * What TypeORM is to connect with. Left to itself it asks for `pg-native`, which we do not have, and then
 * runs whatever has that name in the folder that the process was started in.
 */
export const NODE_POSTGRES = { driver: pg, nativeDriver: false };
