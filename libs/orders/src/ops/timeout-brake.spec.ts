import { insertOrders } from '../../../../test/support/insert-orders';
import { openWorld, type World } from '../../../../test/support/world';
import { ProviderSuspicion } from '../providers/provider-suspicion';
import { examineBrakes } from './doctor/examine-brake';
import { OpsModule } from './ops.module';
import { openBrakeOfDeadlines, TimeoutBrake } from './timeout-brake';

let world: World;
let brake: TimeoutBrake;

beforeAll(async () => {
  world = await openWorld();
  brake = new TimeoutBrake(world.dataSource);
});
afterAll(() => world?.close());

const brakeOf = ({ dataSource }: World) => {
  const one = new TimeoutBrake(dataSource);
  return { read: one.read.bind(one), release: one.release.bind(one) };
};
const operator = { actor: 'ann', reason: 'the clock is set' };

describe('TimeoutBrake', () => {
  it('is one of the use cases of operators', () => {
    expect(Reflect.getMetadata('providers', OpsModule)).toContain(TimeoutBrake);
  });

  it('refuses to resume what runs', async () => {
    expect(await brake.read()).toBeNull();
    await expect(brake.release(operator)).rejects.toMatchObject({ code: 'timeouts_not_stopped' });
  });

  it('is released once, with who and why, and attempts that a wrong clock put off come back', async () => {
    await world.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('clock_jumped', 'payment', 90, 100)`,
    );
    await world.rows(
      `INSERT INTO deadlines (kind, due_at, subject_id, version)
       SELECT kind, now() + interval '1 day', gen_random_uuid(), 3
         FROM unnest(ARRAY['closing', 'refund', 'payment']) AS kind`,
    );
    expect(await brake.read()).toMatchObject({ cause: 'clock_jumped', due: 90, waiting: 100 });
    const results = await Promise.allSettled([brake.release(operator), brake.release(operator)]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await brake.read()).toBeNull();
    const due = await world.rows(
      `SELECT kind, version FROM deadlines WHERE due_at <= now() + interval '1 second' ORDER BY 1`,
    );
    expect(due).toEqual([
      { kind: 'closing', version: 3 },
      { kind: 'refund', version: 3 },
    ]);
    const actions = await world.rows('SELECT actor, action, reason FROM operator_actions');
    expect(actions).toEqual([{ ...operator, action: 'timeouts.resume' }]);
  });

  it.each([
    ['the order module', async () => ({ ...brakeOf(world), close: async () => undefined })],
    ['deadlines alone', () => openBrakeOfDeadlines(world.config)],
  ])('of %s is released as it was looked at, and none that is on since then', async (_, open) => {
    const engage = (cause: string) =>
      world.rows(
        `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ($1, 'payment', 90, 100)`,
        [cause],
      );
    const { read, release, close } = await open();
    try {
      await engage('clock_jumped');
      const seen = await read();
      await release(operator);
      await engage('provider_fails');
      for (const looked of [seen, null]) {
        await expect(release(operator, { seen: looked })).rejects.toMatchObject({
          code: 'timeouts_not_stopped',
          message: 'Timeouts have stopped again, for another cause: look at it first',
        });
      }
      expect(await read()).toMatchObject({ cause: 'provider_fails' });
      await release(operator, { seen: await read() });
      expect(await read()).toBeNull();
    } finally {
      await close();
    }
  });

  it('by a provider that failed ends once it answers, and what is due closes', async () => {
    // Nobody has looked at anything in the last quarter of an hour.
    await world.rows(`UPDATE timeout_brakes SET released_at = now() - interval '1 hour'`);
    const suspicion = world.get(ProviderSuspicion);
    const orders = await insertOrders(world, { count: 150, closesInMs: -1 });
    const closed = async () =>
      (await world.rows(`SELECT FROM orders WHERE status = 'closed'`)).length;
    for (let i = 0; i < 20; i++) suspicion.note('timeout');
    await world.timeouts.runSweep();
    expect([await brake.read(), await closed()]).toMatchObject([{ cause: 'provider_fails' }, 0]);
    for (let i = 0; i < 30; i++) suspicion.note('open');
    await world.timeouts.runSweep();
    expect([await brake.read(), await closed()]).toMatchObject([{ cause: 'provider_fails' }, 0]);
    await world.rows(`UPDATE timeout_brakes SET engaged_at = now() - interval '1 minute'`);
    await world.timeouts.runSweep();
    expect([await brake.read(), await closed()]).toEqual([null, orders.length]);
  });

  it('has ended where another worker has heard so: what failed before it stops nothing anew', async () => {
    await world.rows(`UPDATE timeout_brakes SET released_at = now() - interval '1 hour'`);
    const suspicion = world.get(ProviderSuspicion);
    suspicion.forget();
    await insertOrders(world, { count: 150, closesInMs: -1 });
    const open = async () =>
      (await world.rows(`SELECT FROM orders WHERE status <> 'closed'`)).length;
    for (let i = 0; i < 20; i++) suspicion.note('timeout');
    await world.timeouts.runSweep();
    expect([await brake.read(), await open()]).toMatchObject([{ cause: 'provider_fails' }, 150]);
    await world.rows(
      `UPDATE timeout_brakes SET released_at = now(), released_by = 'brake', release_reason = 'it is over'
        WHERE released_at IS NULL`,
    );
    await world.timeouts.runSweep();
    expect([await brake.read(), await open(), suspicion.read()]).toEqual([null, 0, undefined]);
  });

  it("is that of orders, beside a host's own: which is let go on by its kind, and told of", async () => {
    await world.rows('TRUNCATE operator_actions');
    await world.rows(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting) VALUES ('mail_down', 'trial-mail', 90, 100)`,
    );
    expect(await brake.read()).toBeNull();
    await expect(brake.release(operator)).rejects.toMatchObject({ code: 'timeouts_not_stopped' });
    const checks = examineBrakes(await brake.readAll(), true);
    expect(checks).toMatchObject([
      {
        state: 'finding',
        fix: expect.stringContaining('timeouts resume --kind trial-mail') as string,
      },
    ]);
    const { cause } = await brake.release(operator, { kind: 'trial-mail' });
    expect(cause).toBe('mail_down');
    expect(examineBrakes(await brake.readAll(), true)).toMatchObject([{ state: 'ok' }]);
    expect(await world.rows('SELECT action FROM operator_actions')).toHaveLength(1);
  });
});
