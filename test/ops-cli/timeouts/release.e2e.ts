import type { Check, Config } from '@app/orders';
import { Client } from 'pg';
import { fromPg, migrateTimeouts } from '../../../libs/timeout/src/public';
import { Subjects } from '../../../libs/timeout/src/host/subjects';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { createTestDatabase, type TestDatabase } from '../../support/database';
import { lastcall, lastcallJson } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

const kind = 'trial-end';
interface Finding {
  readonly count: number;
  readonly sample: readonly { kind: string; subjectId: string }[];
}
interface Verified {
  readonly deadlines: { readonly deadlines: number; readonly missing: Finding; held: Finding };
  readonly alarms: { readonly unseen: string | null };
  readonly left: number;
}

async function hold(sql: Client, subjectIds: readonly string[]): Promise<void> {
  const dueAt = new Date(Date.now() - 60_000);
  const armed = subjectIds.map((subjectId) => ({ kind, subjectId, dueAt }));
  await new Subjects('lastcall').arm(fromPg(sql), armed);
  await sql.query(
    `WITH taken AS (DELETE FROM lastcall.deadlines WHERE kind = $1 RETURNING *)
     INSERT INTO lastcall.held_deadlines (kind, subject_id, due_at, version, failures, error)
     SELECT kind, subject_id, due_at, version, 8, 'Error: no such trial' FROM taken`,
    [kind],
  );
}

const release = (config: Config, ...args: string[]) =>
  lastcallJson<{ released: unknown[]; error: { code: string } }>(config, [
    ...['timeouts', 'release', '--reason', 'fixed in 1.4.2', ...args],
  ]);
const verify = (config: Config, ...args: string[]) =>
  lastcallJson<Verified>(config, ['timeouts', 'verify', ...args]);

describe('lastcall timeouts release, beside a host with deadlines alone', () => {
  let database: TestDatabase;
  let sql: Client;
  let config: Config;
  beforeAll(async () => {
    database = await createTestDatabase();
    await migrateTimeouts({ postgres: { url: database.url } });
    sql = new Client({ connectionString: database.url });
    await sql.connect();
    config = { DATABASE_URL: database.url } as Config;
    await hold(sql, ['order-4711', "it's mine", 'third']);
  });
  afterAll(async () => {
    await sql?.end();
    await database?.drop();
  });

  it("is led to by doctor and verify, which name the host's own subjects", async () => {
    const doctor = await lastcallJson<{ checks: Check[] }>(config, ['doctor']);
    expect(doctor.result.checks.find(({ name }) => name === 'held deadlines')).toMatchObject({
      state: 'finding',
      detail: expect.stringMatching(
        /^3, .*"trial-end" of ".*" \(Error: no such trial\)$/,
      ) as string,
      fix: expect.stringContaining('timeouts release') as string,
    });
    const { code, result, stderr } = await verify(config);
    expect(code).toBe(7);
    expect(result).toMatchObject({ left: 3, deadlines: { deadlines: 0, missing: { count: 0 } } });
    const { held } = result.deadlines;
    expect(held.sample.map(({ subjectId }) => subjectId).sort()).toEqual([
      ...["it's mine", 'order-4711', 'third'],
    ]);
    expect(stderr).toContain('Next: mend the cause, then lastcall timeouts release');
    expect(stderr).toContain("only the host's processes know");
  });

  it('makes them due by these, of the kind only where one is said', async () => {
    expect((await release(config, 'order-4711', '--kind', 'another')).code).toBe(3);
    const { code, result } = await release(config, 'order-4711', "it's mine", 'nobody');
    expect(code).toBe(5);
    expect(result.released).toHaveLength(2);
    expect(result.released).toContainEqual({ kind, subjectId: 'order-4711' });
    const rest = await release(config, '--all', '--yes');
    expect(rest.result.released).toEqual([{ kind, subjectId: 'third' }]);
    expect((await verify(config)).result).toMatchObject({ left: 0, deadlines: { deadlines: 3 } });
  });

  it('leaves to verify what has lost its deadline', async () => {
    await sql.query(`DELETE FROM lastcall.deadlines`);
    expect((await verify(config)).result).toMatchObject({ left: 3 });
    const { result } = await verify(config, '--fix');
    expect(result).toMatchObject({ left: 0, deadlines: { fixed: { inserted: 3 } } });
    expect((await verify(config)).code).toBe(0);
  });

  it('lacks nothing, as doctor has it, of the tables that only orders need', async () => {
    const { result } = await lastcallJson<{ checks: Check[] }>(config, ['doctor']);
    const ofTables = result.checks.filter(({ name }) => /^(tables|migrations|indexes)$/.test(name));
    expect(ofTables.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'tables ok',
      'indexes ok',
    ]);
  });
});

describe("lastcall timeouts release, of a host's deadlines beside orders", () => {
  let world: CliWorld;
  let sql: Client;
  beforeAll(async () => {
    world = await startCliWorld();
    sql = new Client({ connectionString: world.ownerUrl });
    await sql.connect();
    await hold(sql, ['order-4711']);
  });
  afterAll(async () => {
    await sql?.end();
    await world?.close();
  });

  it("names the host's own subject, and takes it", async () => {
    const { stdout, stderr } = await lastcall(world.config, ['timeouts', 'verify']);
    expect(stdout).toContain('trial-end order-4711');
    expect(stderr).toContain('lastcall timeouts release order-4711 --reason TEXT');
    const { code, result } = await release(world.config, 'order-4711');
    expect({ code, result }).toEqual({
      code: 0,
      result: { released: [{ kind, subjectId: 'order-4711' }] },
    });
  });
});
