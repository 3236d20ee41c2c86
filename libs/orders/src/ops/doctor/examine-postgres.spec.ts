import { createTestDatabase } from '../../../../../test/support/database';
import { openWorld, type World } from '../../../../../test/support/world';
import { examinePostgres } from './examine-postgres';

let world: World;
beforeAll(async () => (world = await openWorld()));
afterAll(() => world?.close());

/** What is said of one thing over an address with these options. */
async function examineWith(name: string, options: string, url = world.config.DATABASE_URL) {
  const address = new URL(url);
  address.searchParams.set('options', options);
  const checks = await examinePostgres({ ...world.config, DATABASE_URL: address.href });
  return checks.find((check) => check.name === name);
}

describe('examinePostgres, on its sessions', () => {
  const sessions = (options = '', url?: string) => examineWith('sessions', options, url);

  it('is content with ours, and with another limit', async () => {
    expect(await sessions()).toMatchObject({ state: 'ok' });
    expect(await sessions('-c lock_timeout=2s')).toMatchObject({ state: 'ok' });
  });

  it('names what they have instead, as behind a pooler that drops it', async () => {
    const check = await sessions('-c enable_seqscan=on -c statement_timeout=0');
    expect(check).toMatchObject({ state: 'finding' });
    expect(check?.detail).toContain('enable_seqscan = on, statement_timeout = 0');
    expect(check?.fix).toContain('ALTER ROLE');
  });

  it('finds that no trigger fires for whoever connects', async () => {
    const check = await sessions('-c session_replication_role=replica', world.ownerUrl);
    expect(check).toMatchObject({ state: 'finding' });
    expect(check?.detail).toContain('session_replication_role = replica');
  });
});

describe('examinePostgres, on what is written', () => {
  it('finds that a crash may lose what was answered', async () => {
    // Off on the servers of tests, as a rule.
    const [{ fsync } = { fsync: '' }] = await world.rows<{ fsync: string }>('SHOW fsync');
    expect(await examineWith('durability', '-c synchronous_commit=on')).toMatchObject({
      state: fsync === 'on' ? 'ok' : 'finding',
      detail: `fsync ${fsync}, synchronous_commit on`,
    });
    const check = await examineWith('durability', '-c synchronous_commit=off');
    expect(check).toMatchObject({ state: 'finding' });
  });

  it('finds that nothing can be written', async () => {
    expect(await examineWith('primary', '')).toMatchObject({ state: 'ok' });
    expect(await examineWith('primary', '-c default_transaction_read_only=on')).toMatchObject({
      state: 'finding',
      detail: expect.stringContaining('default_transaction_read_only is on') as string,
    });
  });
});

describe('examinePostgres, on its tables', () => {
  it('finds that a migration was not run', async () => {
    expect(await examineWith('migrations', '')).toMatchObject({ state: 'ok' });
    const [last] = await world.rows<{ timestamp: string; name: string }>(
      `DELETE FROM lastcall_migrations WHERE timestamp = (SELECT max(timestamp) FROM lastcall_migrations)
       RETURNING timestamp, name`,
    );
    expect(await examineWith('migrations', '')).toMatchObject({
      state: 'finding',
      detail: `not run: ${last?.name}`,
      fix: expect.stringContaining('migrate.js') as string,
    });
    await world.rows('INSERT INTO lastcall_migrations (timestamp, name) VALUES ($1, $2)', [
      last?.timestamp,
      last?.name,
    ]);
  });
});

describe('examinePostgres, on autovacuum', () => {
  const autovacuum = (options: string) => examineWith('autovacuum', options, world.ownerUrl);

  it('is content where it runs, and finds that it is not told of what is deleted', async () => {
    expect(await autovacuum('-c track_counts=on')).toMatchObject({ state: 'ok' });
    expect(await autovacuum('-c track_counts=off')).toMatchObject({
      state: 'finding',
      detail: 'autovacuum on, track_counts off',
    });
  });
});

describe('examinePostgres, on how the database writes text', () => {
  const encoding = async (url: string) => {
    const checks = await examinePostgres({ ...world.config, DATABASE_URL: url });
    return checks.find(({ name }) => name === 'encoding');
  };

  it('is content with one that has every character, and warns of another', async () => {
    expect(await encoding(world.ownerUrl)).toMatchObject({ state: 'ok', detail: 'UTF8' });
    const latin = await createTestDatabase({ encoding: 'LATIN1' });
    try {
      expect(await encoding(latin.url)).toMatchObject({
        state: 'warning',
        detail: expect.stringContaining('LATIN1') as string,
      });
    } finally {
      await latin.drop();
    }
  });
});

describe("examinePostgres, on deadlines of a host's kinds", () => {
  const kinds = async () => {
    const checks = await examinePostgres(world.config);
    return checks.find(({ name }) => name === "overdue deadlines of a host's kinds");
  };

  it('finds those that nobody has handled for longer than a sweep takes', async () => {
    await world.rows(`
      INSERT INTO deadlines (kind, subject_id, due_at, failures)
      SELECT kind, gen_random_uuid(), now() - due, failures
        FROM (VALUES ('payment', interval '1 hour', 0), ('payments', interval '1 hour', 0),
                     ('buggy', interval '2 hours', 3), ('buggy', interval '1 hour', 0),
                     ('trial-end', interval '1 second', 0), ('trial-end', interval '-1 day', 0))
          AS v (kind, due, failures)`);
    expect(await kinds()).toMatchObject({
      state: 'finding',
      detail: expect.stringMatching(
        /^2 of "buggy", the oldest by 72\d\d s \(1 have failed before\); 1 of "payments", the oldest by 36\d\d s$/,
      ) as string,
      fix: expect.stringMatching(/fails for all .* where no process handles this kind/) as string,
    });
    await world.rows(`DELETE FROM deadlines WHERE kind IN ('payments', 'buggy')`);
    expect(await kinds()).toMatchObject({ state: 'ok' });
  });
});
