/* Runs the faults one after the other; test/faults/main.mjs starts it. Exit code 0: all held. */
import { parseArgs } from 'node:util';
import { moneyCompared } from './books';
import { FAULTS } from './faults';
import { assemble, type Fault, type Outcome, Step } from './fault';
import { slowness } from '../support/slowness';
import { type Acknowledged, dice } from './load';
import { line, nameOf, writeReport } from './report';
import { Rig } from './rig';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    seed: { type: 'string', default: '1' },
  },
});
const seed = Number(values.seed);
let rig: Rig | undefined;

async function main(): Promise<boolean> {
  const { only } = values;
  if (!Number.isSafeInteger(seed)) {
    console.error(`--seed ${values.seed} is no whole number`);
    return false;
  }
  const unknown = only.filter((part) => !FAULTS.some((fault) => nameOf(fault).includes(part)));
  if (unknown.length > 0) {
    const all = FAULTS.map(nameOf).join('\n  ');
    console.error(`No fault is called ${unknown.join(', ')}. There are\n  ${all}`);
    return false;
  }
  const chosen = FAULTS.filter(({ quick }) => !values.quick || quick).filter(
    (fault) => only.length === 0 || only.some((part) => nameOf(fault).includes(part)),
  );
  const outcomes: { fault: Fault; outcome: Outcome }[] = [];
  let acknowledged = nothing();
  try {
    for (const fault of chosen) {
      if (!rig) {
        acknowledged = nothing();
        rig = await openRig();
      }
      const outcome = await runStep(rig, fault, acknowledged);
      outcomes.push({ fault, outcome });
      console.log(line(fault, outcome));
      if (!values.quick) await writeReport([{ fault, outcome }], seed);
      // What one fault has broken must not be held against the next.
      if (!outcome.held) {
        if (process.env.KEEP_LOGS)
          for (const one of rig.processes) console.log(one.name, one.log.slice(-4_000));
        await rig.close();
        rig = undefined;
      }
    }
  } finally {
    await rig?.close();
  }
  const held = outcomes.filter(({ outcome }) => outcome.held).length;
  console.log(`\n${held} held, ${outcomes.length - held} broken; seed ${seed}`);
  return held === outcomes.length && outcomes.length > 0;
}

async function openRig(): Promise<Rig> {
  const rig = new Rig();
  try {
    await rig.open();
    for (const sku of ['TEA-A', 'TEA-B', 'TEA-C', 'TEA-D']) {
      await rig.rows(
        `INSERT INTO products (sku, name, unit_price, currency, on_hand, available)
         VALUES ($1, $1, 700, 'EUR', 10000000, 10000000)`,
        [sku],
      );
    }
    return rig;
  } catch (error) {
    await rig.close();
    throw error;
  }
}

async function runStep(on: Rig, fault: Fault, acknowledged: Acknowledged): Promise<Outcome> {
  const step = new Step(on, values.quick, acknowledged, dice(seed));
  let lost: string[] = [];
  let seen: string;
  try {
    await assemble(on);
    step.load.start();
    await step.lasting(4_000, 2_500);
    await step.strikes();
    seen = await fault.run(step);
    const { wrong } = step.client.experience;
    lost = [...(await step.settle()), ...new Set(wrong), ...on.endedByThemselves];
    // Bursts of the rows behind it would be judged by how it failed here.
    if (fault.area === 'Provider') await step.renewWorkers();
    if (fault.isAboutMoney) seen = `${seen}; ${await moneyCompared(on, step.client)}`;
  } catch (error) {
    seen = error instanceof Error ? error.message : String(error);
    if (process.env.KEEP_LOGS) console.log(await activity(on));
    lost.push(seen, ...on.endedByThemselves);
    await step.load.stop().catch(() => undefined);
  }
  const { inFlight, healedMs, load, client } = step;
  const { begun: orders } = load;
  const { experience } = client;
  return {
    held: lost.length === 0,
    seen,
    inFlight,
    healedMs,
    orders,
    lost,
    experience,
    slowness: slowness(),
  };
}

/** Who did what in Postgres as the row broke, who waited for whom, and what was left to do. */
async function activity(on: Rig): Promise<string> {
  const rows = await on.rows<{ line: string }>(
    `SELECT concat_ws(' ', pid, application_name, state, wait_event_type, wait_event,
                      pg_blocking_pids(pid), now() - xact_start, now() - state_change,
                      left(regexp_replace(query, '\\s+', ' ', 'g'), 120)) AS line
       FROM pg_stat_activity WHERE state <> 'idle' ORDER BY xact_start`,
  );
  const left = await on.rows<{ line: string }>(
    `SELECT concat_ws(' ', 'orders', status, count(*)) AS line FROM orders GROUP BY status
      UNION ALL SELECT concat_ws(' ', 'payments', status, count(*)) FROM payments GROUP BY status
      UNION ALL SELECT concat_ws(' ', 'deadlines', kind, due_at <= now(), count(*), min(due_at) - now())
        FROM deadlines GROUP BY kind, due_at <= now()
      UNION ALL SELECT concat_ws(' ', 'held', kind, subject_id, error) FROM held_deadlines`,
  );
  return [...rows, ...left].map(({ line: one }) => one).join('\n');
}

const nothing = (): Acknowledged => ({
  placed: new Map(),
  canceled: new Set(),
  captured: new Set(),
});

// What was started is stopped, whoever ends this run.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void rig?.close().finally(() => process.exit(130));
  });
}

main().then(
  (held) => (process.exitCode = held ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
