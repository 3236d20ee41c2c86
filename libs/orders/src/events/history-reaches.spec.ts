import { inTransaction } from '@app/timeout';
import { Client } from 'pg';
import { insertOrders } from '../../../../test/support/insert-orders';
import { relayAll } from '../../../../test/support/relay-all';
import { until } from '../../../../test/support/until';
import { openWorld, type World } from '../../../../test/support/world';
import { RELAY_IS_STUCK } from '../order/event-tx';

/** Held while a statement is under way, so that others commit meanwhile. */
const GATE = 4_711;

let world: World;
let other: Client;
beforeAll(async () => {
  world = await openWorld();
  other = new Client({ connectionString: world.config.DATABASE_URL });
  await other.connect();
});
afterAll(async () => {
  await other?.end();
  await world?.close();
});

/** Resolves when the statement at the gate has begun: it sees nothing that is committed later. */
const waitsAtGate = (): Promise<unknown> =>
  until('the statement waits at the gate', async () => {
    const [row] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND objid = ${GATE} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return row?.n === 1;
  });

describe('how far the history reaches', () => {
  it('is told as of the statement that asks, however long that takes', async () => {
    // Over a large history the invariants take seconds, and shops go on meanwhile.
    await other.query('SELECT pg_advisory_lock($1)', [GATE]);
    const judged = inTransaction(world.dataSource, async (tx) => {
      await tx.rows('SET LOCAL lock_timeout = 0');
      return tx.rows<{ stuck: boolean }>(
        `WITH gate AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(${GATE}))
         SELECT ${RELAY_IS_STUCK} AS stuck FROM gate`,
      );
    });
    await waitsAtGate();
    for (let n = 0; n < 3; n++) await insertOrders(world, { count: 1, closesInMs: 60_000 });
    await relayAll(world);
    await other.query('SELECT pg_advisory_unlock($1)', [GATE]);
    expect(await judged).toEqual([{ stuck: false }]);
  });
});
