import { insertOrders } from '../support/insert-orders';
import { until } from '../support/until';
import { allowed } from '../support/slowness';
import { assert, type Fault, type Step } from './fault';

/** What the sweep finds, and the second after which nobody gives way to others any more. */
const OTHER_TURN_S = 4;
/** Five seconds after which a session counts as one that hangs, the one after which it is asked, and a sweep. */
const ALL_TURNS_S = 8;
const CROWD = 3_000;

const hanging = (turns: number, name: string, limitS: number): Fault => ({
  area: 'Postgres',
  name,
  run: async (step) => {
    const { rig } = step;
    const pids: number[] = [];
    let since: Date;
    let overdue: number | undefined;
    try {
      for (let turn = 1; turn <= turns; turn++) {
        pids.push(await until('a batch hangs', () => stopAtBatch(step, turn), 60_000));
      }
      since = await step.now();
      await step.lasting(40_000, 12_000);
      const [row] = await rig.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM orders WHERE status = 'pending_payment'
            AND closes_at BETWEEN $1 AND now() - $2 * interval '1 second'`,
        [since, allowed(limitS)],
      );
      overdue = row?.n;
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    const { handled, mostS } = await step.lateness(since);
    await step.heal();
    const seen = `${handled} orders due meanwhile closed, at most ${mostS.toFixed(1)} s late`;
    assert(handled > 0 && overdue === 0 && mostS <= allowed(limitS), `${seen}; ${overdue} open`);
    return seen;
  },
});

export const HUNG_SESSIONS: readonly Fault[] = [
  hanging(
    1,
    'a session hangs with the first turn in the midst of a batch: the others close',
    OTHER_TURN_S,
  ),
  hanging(2, 'sessions hang with all turns, each in the midst of a batch', ALL_TURNS_S),
];

/**
 * Stops the process of a session that has claimed some deadlines by this turn. Answers with it, unless it had
 * ended its batch by then.
 */
async function stopAtBatch(step: Step, turn: number): Promise<number | undefined> {
  const { rig } = step;
  const atBatch = async (): Promise<number | undefined> => {
    const [row] = await rig.rows<{ pid: number }>(
      `SELECT a.pid FROM pg_stat_activity a JOIN pg_locks l USING (pid)
        WHERE a.application_name = 'lastcall closers' AND a.backend_xid IS NOT NULL
          AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid = $1
          AND l.classid::bigint = hashtext('deadlines ' || current_schema || ' payment')::bigint & 4294967295`,
      [turn],
    );
    return row?.pid;
  };
  const pid = await atBatch();
  if (pid === undefined) return keepBusy(step);
  process.kill(pid, 'SIGSTOP');
  if ((await atBatch()) === pid) return pid;
  process.kill(pid, 'SIGCONT');
  return undefined;
}

/** Batches of a few orders are over before anybody sees them. */
async function keepBusy({ rig }: Step): Promise<undefined> {
  const [row] = await rig.rows<{ n: number }>(
    `SELECT count(*)::int AS n FROM deadlines WHERE kind = 'payment' AND due_at < now() + interval '1 s'`,
  );
  if (row && row.n < CROWD / 2) await insertOrders(rig, { count: CROWD, closesInMs: 500 });
}
