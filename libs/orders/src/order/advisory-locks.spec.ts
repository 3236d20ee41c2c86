import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database';
import { ADVISORY_LOCKS, type Alone, PLACING_TURN, trying, waitingFor } from './advisory-locks';

const ROOT = join(__dirname, '../../../..');
const CALL = /pg_(?:try_)?advisory_(?:xact_)?lock(?:_shared)?\(((?:[^()]|\([^()]*\))*)\)/g;

/** What is locked where, as the source says it. */
function locked(): { file: string; key: string }[] {
  return ['libs/orders/src', 'libs/timeout/src', 'apps/api/src', 'apps/ops-cli/src']
    .flatMap((folder) =>
      (readdirSync(join(ROOT, folder), { recursive: true }) as string[]).map((name) =>
        join(folder, name),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .sort()
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(CALL)].map(([, key]) => ({
        file,
        key: key as string,
      })),
    );
}

it('gives each lock a key that no other has', () => {
  const keys = Object.values(ADVISORY_LOCKS);
  expect(new Set(keys).size).toBe(keys.length);
});

it('is where every key comes from that is locked anywhere', () => {
  const named = Object.keys(ADVISORY_LOCKS).map((name) => `\${ADVISORY_LOCKS.${name}}`);
  named.push('${PLACING_TURN}');
  const keys = new Set<string>(Object.values(ADVISORY_LOCKS));
  const strange = locked().filter(({ file, key }) => {
    if (file.includes('libs/orders/src/migrations/')) return !keys.has(key);
    if (file.startsWith('libs/timeout/') || file.endsWith('order/advisory-locks.ts')) return false;
    return !named.some((one) => key === one || key === `${one}, k`);
  });
  expect(strange).toEqual([]);
  expect(locked().length).toBeGreaterThan(8);
});

it('shares with the timeouts what they are to share, and nothing else', () => {
  const keys = locked().filter(({ file }) => file.startsWith('libs/timeout/'));
  expect(keys).toEqual([
    { file: 'libs/timeout/src/database/migration-turn.ts', key: '$1' },
    { file: 'libs/timeout/src/draining/batch-entry.ts', key: "${keyOfTurns('$1')}, turn" },
    { file: 'libs/timeout/src/shards/sweep-shards.ts', key: '${OPENING}' },
  ]);
  const written = (file: string, constant: RegExp): string | undefined =>
    constant
      .exec(readFileSync(join(ROOT, 'libs/timeout/src', file), 'utf8'))?.[1]
      ?.replaceAll('_', '');
  expect(written('database/migration-turn.ts', /MIGRATION_LOCK = ([\d_]+);/)).toBe(
    ADVISORY_LOCKS.migrate,
  );
  expect(written('shards/sweep-shards.ts', /OPENING = '(\d+)';/)).toBe(ADVISORY_LOCKS.openSweep);
});

describe('Of several installations in one database', () => {
  let database: TestDatabase;
  const sessions: Client[] = [];
  const sessionIn = async (schema: string): Promise<Client> => {
    const options = `-c search_path=${schema}`;
    const client = new Client({ connectionString: database.url, options });
    sessions.push(client);
    await client.connect();
    return client;
  };
  let [ours, second, others]: Client[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    [ours, second, others] = [
      await sessionIn('ours'),
      await sessionIn('ours'),
      await sessionIn('others'),
    ];
    for (const schema of ['ours', 'others']) {
      await ours.query(`CREATE SCHEMA ${schema} CREATE TABLE order_events (id int)`);
    }
  });
  afterAll(async () => {
    await Promise.all(sessions.map((one) => one.end()));
    await database?.drop();
  });
  const all = async (those: readonly Client[], sql: string): Promise<void> => {
    for (const one of those) await one.query(sql);
  };
  beforeEach(() => all(sessions, 'BEGIN'));
  afterEach(() => all(sessions, 'ROLLBACK'));

  const asked = async (client: Client | undefined, sql: string): Promise<unknown> =>
    (await client?.query(`SELECT ${sql} AS it`))?.rows[0]?.it;

  const names: Alone[] = ['relay', 'seals', 'fanOut', 'reconcile', 'digest', 'importProducts'];
  it.each(names)(
    '%s keeps off its own, those of an earlier version, and no others',
    async (what) => {
      const before = `pg_try_advisory_xact_lock(${ADVISORY_LOCKS[what]})`;
      expect(await asked(ours, trying(what))).toBe(true);
      expect(await asked(second, trying(what))).toBe(false);
      expect(await asked(others, trying(what))).toBe(true);
      expect(await asked(second, before)).toBe(false);
      await all(sessions, 'ROLLBACK');
      await all(sessions, 'BEGIN');
      expect(await asked(second, before)).toBe(true);
      expect(await asked(ours, trying(what))).toBe(false);
    },
  );

  it('who places alone keeps its own off, no others, and nothing else that is taken alone', async () => {
    const turn = `pg_try_advisory_xact_lock(${PLACING_TURN})`;
    expect(await asked(ours, turn)).toBe(true);
    expect(await asked(second, turn)).toBe(false);
    expect(await asked(others, turn)).toBe(true);
    for (const what of names) expect(await asked(second, trying(what))).toBe(true);
  });

  it('who waits is not kept waiting by the others, and keeps its own off', async () => {
    expect(await asked(others, trying('relay'))).toBe(true);
    await ours?.query(`SELECT ${waitingFor('relay')}`);
    expect(await asked(second, trying('relay'))).toBe(false);
  });

  it('a session keeps its own off until it lets go', async () => {
    expect(await asked(ours, trying('reconcile', 'session'))).toBe(true);
    expect(await asked(second, trying('reconcile', 'session'))).toBe(false);
    expect(await asked(others, trying('reconcile', 'session'))).toBe(true);
    await all(sessions, 'SELECT pg_advisory_unlock_all()');
  });
});
