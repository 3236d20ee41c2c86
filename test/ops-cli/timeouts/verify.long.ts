import type { Check, DeadlinesReport } from '@app/orders';
import { type Alarm, type AlarmsReport, TimeoutService } from '@app/timeout';
import type { Redis } from 'ioredis';
import { startTestApp } from '../../support/app';
import { CLI_TEST_TIMEOUT_MS, type CliWorld, startCliWorld } from '../../support/cli-world';
import { insertOrders } from '../../support/insert-orders';
import { expectConventions, inFourWays, lastcallJson, operatorNamed } from '../../support/lastcall';

jest.setTimeout(CLI_TEST_TIMEOUT_MS);

interface Result {
  deadlines: DeadlinesReport;
  alarms: AlarmsReport;
  findings: number;
  left: number;
}

interface Refused {
  error: { code: string; why: string };
}

describe('lastcall timeouts verify and release', () => {
  let world: CliWorld;

  // Another slot than the default, which the commands are not told of: the processes tell them.
  beforeAll(async () => (world = await startCliWorld({ settings: { TIMER_GRANULARITY: '5s' } })));
  afterAll(() => world.close());

  const verify = (...flags: string[]) =>
    lastcallJson<Result>(world.config, ['timeouts', 'verify', ...flags]);

  const doctor = async () => {
    const { result } = await lastcallJson<{ checks: Check[] }>(world.config, ['doctor']);
    const stateOf = (name: string) =>
      result.checks.find((check) => check.area === 'flow' && check.name === name)?.state;
    return { deadlines: stateOf('deadlines'), alarms: stateOf('alarms') };
  };

  it('finds and mends missing, orphaned and wrong ones, and then finds nothing', async () => {
    const closesInMs = [200_000, 300_000, 400_000, 500_000];
    const [lost, late] = await insertOrders(world.sql, { count: 4, closesInMs });
    await world.app.get(TimeoutService).alarms.catchUp();
    // Its job is still there, as after a partial loss.
    await world.redis.zrem('{lc:alarms}:alarms:delayed', slotOf(lost?.closesAt as Date));
    await addAlarm(world.redis, { id: 'slot-4102444800000', at: new Date(Date.now() + 100_000) });
    await world.sql.rows('DELETE FROM deadlines WHERE subject_id = $1', [late?.id]);
    await world.sql.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id)
       VALUES ('payment', now() + interval '1 day', gen_random_uuid())`,
    );
    const found = await verify();
    expect(found).toMatchObject({ code: 7, result: { findings: 3, left: 3 } });
    expect(found.result.deadlines).toMatchObject({ missing: { count: 1 }, orphaned: { count: 1 } });
    // The alarm of the deadline that was deleted stands for nothing, like the one made up.
    expect(found.result.alarms).toMatchObject({ missing: { count: 1 }, orphaned: { count: 2 } });
    expect(await doctor()).toEqual({ deadlines: 'finding', alarms: 'finding' });
    expect((await verify('--fix', '--reason', 'restored', '--actor', 'eve')).code).toBe(0);
    const actor = { actor: operatorNamed('eve'), subject_kind: 'deadline', reason: 'restored' };
    const actions = await world.sql.rows('SELECT * FROM operator_actions ORDER BY action DESC');
    expect(actions).toMatchObject([
      { ...actor, action: 'deadline.insert', subject_id: late?.id },
      { ...actor, action: 'deadline.delete' },
    ]);
    // What is left behind by orders that were paid, in the company of no other, is no finding.
    await addAlarm(world.redis, { id: 'slot-4102444800000', at: new Date(Date.now() + 900_000) });
    const ways = await inFourWays(world.config, ['timeouts', 'verify']);
    expectConventions(ways, 0);
    expect(JSON.parse(ways.json.stdout)).toMatchObject({
      ...{ findings: 0, left: 0 },
      alarms: { orphaned: { count: 1 } },
    });
    // Nothing is listed as one that the last line says is none.
    expect(ways.pipe.stdout).not.toContain('FINDING');
    expect(ways.pipe.stdout).toContain('No findings; 1 orphaned alarm, to ring for nothing');
    expect(await doctor()).toEqual({ deadlines: 'ok', alarms: 'ok' });
  });

  it('mends nothing while processes, or this command, have other settings', async () => {
    const alarms = () => world.redis.zrange('{lc:alarms}:alarms:delayed', 0, -1);
    const before = await alarms();
    expect(before.length).toBeGreaterThan(0);
    const fix = ['timeouts', 'verify', '--fix', '--reason', 'why'];
    const told = await lastcallJson<Refused>(world.config, fix, {
      env: { TIMER_GRANULARITY: '100ms' },
    });
    expect(told).toMatchObject({ code: 4, result: { error: { code: 'settings_differ' } } });
    expect(told.result.error.why).toMatch(/TIMER_GRANULARITY is 5s at \S+:\d+, 100ms here/);
    const settings = { ROLES: 'api', TIMER_GRANULARITY: '1s' };
    const other = await startTestApp({ beside: world, settings });
    try {
      expect((await lastcallJson(world.config, fix)).code).toBe(4);
      const { result } = await lastcallJson<{ checks: Check[] }>(world.config, ['doctor']);
      const agree = result.checks.find(({ name }) => name === 'processes agree');
      expect(agree).toMatchObject({
        state: 'finding',
        detail: expect.stringMatching(/1s at .*5s at|5s at .*1s at/),
      });
    } finally {
      await other.close();
    }
    expect(await alarms()).toEqual(before);
    expect((await verify()).result.alarms).toMatchObject({ orphaned: { count: 1 } });
  });

  it('keeps its own name as the reason when none is given, and takes none without --fix', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: 600_000 });
    const id = order?.id as string;
    await world.sql.rows('DELETE FROM deadlines WHERE subject_id = $1', [id]);
    expect((await verify('--reason', 'looking')).code).toBe(2);
    await verify('--fix');
    const sql = 'SELECT action, reason FROM operator_actions WHERE subject_id = $1';
    expect(await world.sql.rows(sql, [id])).toEqual([
      { action: 'deadline.insert', reason: 'timeouts verify --fix' },
    ]);
  });

  it('sends to the workers also where it has taken away alarms that none took', async () => {
    await addAlarm(world.redis, { id: 'slot-5000', at: new Date(Date.now() - 60_000) });
    const fixed = await verify('--fix', '--reason', 'why');
    expect(fixed).toMatchObject({ code: 0, result: { left: 0, alarms: { late: { count: 1 } } } });
    expect(fixed.stderr).toContain('start a worker');
  });

  it('tells of held deadlines until an operator releases them, with a reason', async () => {
    const [order] = await insertOrders(world.sql, { count: 1, closesInMs: -1_000 });
    const id = order?.id as string;
    await world.sql.rows(
      `WITH moved AS (DELETE FROM deadlines WHERE subject_id = $1 RETURNING *)
       INSERT INTO held_deadlines (kind, subject_id, due_at, version, failures, error)
       SELECT kind, subject_id, due_at, version, 8, 'poison' FROM moved`,
      [id],
    );
    const held = await verify();
    expect(held).toMatchObject({ code: 7, result: { left: 1, deadlines: { held: { count: 1 } } } });
    expect(held.stderr).toContain(`lastcall timeouts release ${id}`);
    const none = ['timeouts', 'release', '--reason', 'fixed in 1.4'];
    expect((await lastcallJson(world.config, none)).code).toBe(2);
    const args = ['timeouts', 'release', id, '--reason', 'fixed in 1.4', '--actor', 'eve'];
    const released = await lastcallJson(world.config, args);
    expect(released).toMatchObject({
      code: 0,
      result: { released: [{ kind: 'payment', subjectId: id }] },
    });
    const written = await world.sql.rows(
      'SELECT actor, action, reason FROM operator_actions WHERE subject_id = $1',
      [id],
    );
    expect(written).toEqual([
      { actor: operatorNamed('eve'), action: 'deadline.release', reason: 'fixed in 1.4' },
    ]);
    expect((await lastcallJson(world.config, args)).code).toBe(3);
    await lastcallJson(world.config, ['sweep', 'run']);
    expect(await world.sql.rows('SELECT status FROM orders WHERE id = $1', [id])).toEqual([
      { status: 'closed' },
    ]);
  });
});

function slotOf(closesAt: Date): string {
  return `slot-${Math.ceil(closesAt.getTime() / 5_000) * 5_000}`;
}

/** As BullMQ keeps a delayed job, as far as a survey reads it. */
async function addAlarm(redis: Redis, { id, at }: Alarm): Promise<void> {
  await redis.hset(`{lc:alarms}:alarms:${id}`, 'data', JSON.stringify({ atMs: at.getTime() }));
  await redis.zadd('{lc:alarms}:alarms:delayed', at.getTime() * 0x1000, id);
}
