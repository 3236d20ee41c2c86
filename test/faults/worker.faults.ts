import { randomUUID } from 'node:crypto';
import { until } from '../support/until';
import { abandonWhilePaying } from './crash.faults';
import { assert, type Fault, type Step } from './fault';
import { pause } from './load';

export const WORKER_FAULTS: readonly Fault[] = [
  {
    area: 'Locks',
    name: 'a lock lives for 1 ms: it always expires inside the section',
    run: (step) => withSabotage(step, { LOCK_TTL_MS: '1' }, 'locks live for 1 ms'),
  },
  {
    area: 'Locks',
    name: 'no lock at all',
    run: (step) => withSabotage(step, { LOCK: 'none' }, 'there are no locks'),
  },
  {
    area: 'Locks',
    name: 'five sweepers, every second, no alarms',
    run: async (step) => {
      const names = ['sweeper-1', 'sweeper-2', 'sweeper-3', 'sweeper-4', 'sweeper-5'];
      await step.rig.process('worker-1').stop();
      await step.rig.process('worker-2').stop();
      // Each would arm alarms of its own with every sweep: they vanish, so only sweeps close.
      const env = { SWEEP_INTERVAL: '1s', TIMER_DRIVER: 'memory', NO_ALARMS: '1' };
      for (const name of names) await step.rig.start({ name, roles: 'worker', env });
      const since = await step.now();
      await step.lasting(15_000, 6_000);
      await step.heal();
      const { sweep = 0, timer = 0 } = await step.closedBy(since);
      step.assertSabotaged(names, 'no alarms');
      assert(sweep > 0, 'no sweep has closed anything');
      for (const name of names) {
        await step.rig.process(name).stop();
        step.rig.forget(name);
      }
      await step.backToUsual();
      return `closed by sweep ${sweep}, by alarm ${timer}, each once`;
    },
  },
  {
    area: 'Workers',
    name: 'stopped for 40 s in the middle of a transaction, then woken',
    run: (step) => freeze(step, 'close.changed'),
  },
  {
    area: 'Workers',
    name: 'stopped for 40 s while the provider is asked, then woken',
    run: (step) => freeze(step, 'closing.answered', abandonWhilePaying),
  },
  {
    area: 'Workers',
    name: 'SIGTERM under load every 20 s, one worker after the other, and the API',
    quick: true,
    run: async (step) => {
      const took: string[] = [];
      const names = ['worker-1', 'api', 'worker-2'];
      for (const name of step.quick ? names.slice(0, 2) : [...names, 'worker-1']) {
        took.push(`${name} ${await step.rig.process(name).stop()} ms`);
        await step.backToUsual();
        await step.lasting(20_000, 1_000);
      }
      await step.heal();
      return `ended with code 0 after ${took.join(', ')}`;
    },
  },
  {
    area: 'Poison',
    name: 'a deadline without an order, an order that cannot be closed',
    run: poison,
  },
];

async function withSabotage(
  step: Step,
  env: Readonly<Record<string, string>>,
  what: string,
): Promise<string> {
  const names = ['worker-1', 'worker-2', 'api'];
  for (const name of names) {
    await step.rig.process(name).stop();
    await step.rig.start({ name, roles: name === 'api' ? 'api' : 'worker', env });
  }
  const since = await step.now();
  await step.lasting(15_000, 5_000);
  await step.heal();
  const { timer = 0, sweep = 0, customer = 0 } = await step.closedBy(since);
  step.assertSabotaged(names, what);
  for (const name of names) await step.rig.process(name).stop();
  await step.backToUsual();
  return `closed by alarm ${timer}, by sweep ${sweep}, by customers ${customer}; one winner each`;
}

/** The worker stops itself at a failpoint, holding whatever it holds there; `provoke` leads to it. */
async function freeze(
  step: Step,
  failpoint: string,
  provoke?: (step: Step) => Promise<void>,
): Promise<string> {
  await step.rig.process('worker-1').stop();
  const env = { FREEZE_AT: failpoint };
  const worker = await step.rig.start({ name: 'worker-1', roles: 'worker', env });
  await until(
    'the worker stops',
    async () => {
      if (!worker.isFrozen) await provoke?.(step).catch(() => undefined);
      return worker.isFrozen;
    },
    30_000,
  );
  await step.client.healProvider();
  const since = await step.now();
  await step.lasting(40_000, 8_000);
  const { timer = 0, sweep = 0 } = await step.closedBy(since);
  assert(timer + sweep > 0, 'the other worker stood still');
  await step.heal(() => worker.signal('SIGCONT'));
  await worker.stop();
  await step.backToUsual();
  return `stopped at ${failpoint}; the other worker closed ${timer + sweep} meanwhile`;
}

async function poison(step: Step): Promise<string> {
  const { rig } = step;
  const nobody = '00000000-0000-7000-8000-000000000001';
  await rig.rows(
    `INSERT INTO deadlines (kind, due_at, subject_id) VALUES ('payment', now() + interval '1 s', $1)`,
    [nobody],
  );
  // Nobody's of the usual load, who would pay or cancel it and hear of a bug.
  const { body } = await step.client.api('POST /v1/orders', {
    body: { items: [{ sku: 'TEA-A', quantity: 1 }] },
    headers: { 'idempotency-key': randomUUID() },
  });
  const id = String(body.id);
  await rig.rows(
    `CREATE OR REPLACE FUNCTION poisoned() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'poisoned'; END $$`,
  );
  await rig.rows(
    `CREATE TRIGGER poisoned BEFORE UPDATE ON orders FOR EACH ROW
       WHEN (old.id = '${id}'::uuid) EXECUTE FUNCTION poisoned()`,
  );
  const failures = async (): Promise<number> => {
    const [row] = await rig.rows<{ failures: number }>(
      `SELECT failures FROM deadlines WHERE subject_id = $1 AND kind = 'payment'`,
      [id],
    );
    return row?.failures ?? 0;
  };
  await until('it backs off', async () => (await failures()) >= 2, 30_000);
  const [late] = await rig.rows<{ n: string }>(
    `SELECT count(*) AS n FROM orders WHERE status = 'pending_payment' AND id <> $1
        AND closes_at < now() - interval '5 s'`,
    [id],
  );
  assert(Number(late?.n) === 0, `${late?.n} neighbours were not closed`);
  // Seven failures take two minutes of backing off; the eighth is what holds it.
  await rig.rows(`UPDATE deadlines SET failures = 7 WHERE subject_id = $1`, [id]);
  const held = await until(
    'it is held',
    async () =>
      (
        await rig.rows<{ error: string }>(
          `SELECT error FROM held_deadlines WHERE subject_id = $1`,
          [id],
        )
      )[0],
    20_000,
  );
  const isAlerted = rig.processes.some(({ log }) => log.includes('a deadline is held'));
  assert(isAlerted, 'nobody was told that a deadline is held');
  const left = await rig.rows('SELECT 1 FROM deadlines WHERE subject_id = $1', [nobody]);
  assert(left.length === 0, 'the deadline without an order is still there');
  await step.heal(async () => {
    await rig.rows('DROP TRIGGER poisoned ON orders');
    // As `lastcall timeouts verify` tells the operator to: libs/timeout/src/deadlines/held-deadlines.ts.
    await rig.rows(
      `WITH released AS (DELETE FROM held_deadlines WHERE subject_id = $1 RETURNING *)
       INSERT INTO deadlines (kind, due_at, subject_id, version)
       SELECT kind, now(), subject_id, version + 1 FROM released`,
      [id],
    );
  });
  await pause(0);
  return `held after its 8th failure with "${held.error.slice(0, 60)}", an alert raised; its neighbours closed in time`;
}
