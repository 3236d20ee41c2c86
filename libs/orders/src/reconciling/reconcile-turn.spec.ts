import { limitSessions } from '../../../../test/support/limit-sessions';
import { createMigratedDatabase } from '../../../../test/support/migrated-database';
import { until } from '../../../../test/support/until';
import { openWorld } from '../../../../test/support/world';
import { Reconcile } from './reconcile';

it('ends where it is told to, and lets go of its turn, though a page of the ledger never comes', async () => {
  const world = await openWorld();
  const interruption = new AbortController();
  world.provider.around = async (call) => {
    if (call !== 'ledger') return;
    interruption.abort();
    await new Promise(() => undefined);
  };
  const { runId } = (await world.get(Reconcile).runOnce(interruption.signal)) ?? {};
  world.provider.around = async () => undefined;
  expect(await world.get(Reconcile).runOnce()).toMatchObject({ runId });
  expect(await world.rows('SELECT FROM reconcile_runs WHERE finished_at IS NULL')).toEqual([]);
  await world.close();
});

it('keeps its turn for longer than a session of the database may stand still', async () => {
  const database = await createMigratedDatabase();
  try {
    // Those of both worlds stand still as well, for as long as a busy machine takes to open them.
    await limitSessions(database.url, { idle_session_timeout: '1s' });
    const first = await openWorld({ databaseUrl: database.appUrl });
    const second = await openWorld({ beside: first });
    let pages = 0;
    first.provider.around = async (call) => {
      if (call !== 'ledger' || ++pages > 1) return;
      await until('its turn has stood still for long, or is over', async () => {
        const turns = await first.rows<{ is_long: boolean }>(
          `SELECT now() - state_change > interval '1500 ms' AS is_long
             FROM pg_stat_activity JOIN pg_locks USING (pid)
            WHERE locktype = 'advisory' AND granted AND datname = current_database()`,
        );
        return turns.every(({ is_long: isLong }) => isLong);
      });
      expect(await second.get(Reconcile).runOnce()).toBeUndefined();
    };
    await first.get(Reconcile).runOnce();
    expect(pages).toBe(1);
    await second.close();
    await first.close();
  } finally {
    await database.drop();
  }
});
