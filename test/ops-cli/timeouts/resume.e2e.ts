import type { BrakeView } from '@app/orders';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { lastcall, lastcallJson, operatorNamed } from '../../support/lastcall';

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
    expect((await resume()).code).toBe(8);
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
});
