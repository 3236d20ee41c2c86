import type { BrakeView, Check, Config } from '@app/orders';

import { Client } from 'pg';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { migrateTimeouts } from '../../../libs/timeout/src/public';
import { createTestDatabase } from '../../support/database';
import { lastcall, lastcallJson, operatorNamed } from '../../support/lastcall';
import { until } from '../../support/until';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

describe('lastcall timeouts resume', () => {
  let world: CliWorld;

  beforeAll(async () => (world = await startCliWorld()));
  afterAll(() => world.close());

  const resume = (...flags: string[]) =>
    lastcallJson<{ resumed: BrakeView; error: { code: string } }>(world.config, [
      ...['timeouts', 'resume', '--reason', 'the clock is right', '--actor', 'ann'],
      ...flags,
    ]);

  it('releases the brake once, asked for twice over, and says who and why', async () => {
    await world.sql.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('clock_jumped', 'payment', 90, 100)`,
    );
    const doctor = await lastcall(world.config, ['doctor']);
    expect(doctor.stdout).toMatch(/BAD +flow +timeouts +stopped themselves at .* \(clock_jumped\)/);
    const sweep = await lastcall(world.config, ['sweep', 'run']);
    expect(sweep.stderr).toContain('stopped themselves (clock_jumped)');
    const shown = await resume();
    expect(shown.code).toBe(8);
    expect(shown.stderr).toMatch(/cause +clock_jumped\ndue then +90 of 100 deadlines/);
    const { code, result } = await resume('--yes');
    expect(code).toBe(0);
    expect(result.resumed).toMatchObject({ cause: 'clock_jumped', due: 90, waiting: 100 });
    const again = await resume('--yes');
    expect(again.code).toBe(4);
    expect(again.result.error.code).toBe('timeouts_not_stopped');
    expect(await world.sql.rows('SELECT actor, action, reason FROM operator_actions')).toEqual([
      { actor: operatorNamed('ann'), action: 'timeouts.resume', reason: 'the clock is right' },
    ]);
  });

  it('releases what its operator was shown, and nothing that has stopped them since', async () => {
    const engage = (cause: string) =>
      world.sql.rows(
        `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ($1, 'payment', 90, 100)`,
        [cause],
      );
    await engage('clock_jumped');
    const isAsked = until('the operator is asked', async () => {
      const asked = await world.sql.rows(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
            AND state = 'idle' AND query LIKE '%FROM timeout_brakes WHERE released_at IS NULL%'
            -- None of a command before, whose session may end after it.
            AND backend_start > (SELECT max(engaged_at) FROM timeout_brakes)`,
      );
      return asked.length > 0;
    });
    const isAnother = isAsked.then(async () => {
      expect((await resume('--yes')).code).toBe(0);
      await engage('provider_fails');
    });
    const args = ['timeouts', 'resume', '--reason', 'the clock is right'];
    const interrupt = { when: isAnother, signal: 'SIGINT', keys: 'resume\n' } as const;
    const { code, stdout } = await lastcall(world.config, args, { tty: true, interrupt });
    expect(stdout).toContain('clock_jumped');
    expect(stdout).toContain('Timeouts have stopped again, for another cause');
    expect(code).toBe(4);
    const left = 'SELECT cause FROM timeout_brakes WHERE released_at IS NULL';
    expect(await world.sql.rows(left)).toEqual([{ cause: 'provider_fails' }]);
  });

  it('does so beside a host with deadlines alone, too, of which doctor tells', async () => {
    const database = await createTestDatabase();
    await migrateTimeouts({ postgres: { url: database.url } });
    const sql = new Client({ connectionString: database.url });
    await sql.connect();
    await sql.query(
      `INSERT INTO lastcall.timeout_brakes (cause, kind, due, waiting) VALUES ('mail_down', 'trial-end', 90, 100)`,
    );
    const config = { DATABASE_URL: database.url } as Config;
    const told = async () =>
      (await lastcallJson<{ checks: Check[] }>(config, ['doctor'])).result.checks.find(
        ({ name }) => name === 'timeouts',
      );
    expect(await told()).toMatchObject({
      state: 'finding',
      detail: expect.stringContaining('(mail_down)') as string,
    });
    const flags = ['--reason', 'mail is up', '--actor', 'ann', '--yes'];
    const args = ['timeouts', 'resume', ...flags];
    const { code, result } = await lastcallJson<{ resumed: BrakeView }>(config, args);
    expect({ code, result }).toMatchObject({ code: 0, result: { resumed: { due: 90 } } });
    expect((await lastcallJson(config, args)).code).toBe(4);
    expect(await told()).toMatchObject({ state: 'ok' });
    const kept = await sql.query('SELECT released_by, release_reason FROM lastcall.timeout_brakes');
    expect(kept.rows).toEqual([
      { released_by: operatorNamed('ann'), release_reason: 'mail is up' },
    ]);
    await sql.end();
    await database.drop();
  });
});
