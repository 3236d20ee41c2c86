import { until } from '../support/until';
import { allowed } from '../support/slowness';
import { assert, type Fault, type Step } from './fault';

/** What the sweep finds, and the second after which nobody gives way to others any more. */
const LIMIT_S = 4;

export const HUNG_SESSION: Fault = {
  area: 'Postgres',
  name: 'a session hangs with the first turn in the midst of a batch: the others close',
  run: async (step) => {
    const { rig } = step;
    const pid = await until('a batch that is under way hangs', () => stopAtBatch(step), 60_000);
    const since = await step.now();
    let overdue: number | undefined;
    try {
      await step.lasting(40_000, 12_000);
      const [row] = await rig.rows<{ n: number }>(
        `SELECT count(*)::int AS n FROM orders WHERE status = 'pending_payment'
            AND closes_at BETWEEN $1 AND now() - $2 * interval '1 second'`,
        [since, allowed(LIMIT_S)],
      );
      overdue = row?.n;
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const { handled, mostS } = await step.lateness(since);
    await step.heal();
    const seen = `${handled} orders due meanwhile closed, at most ${mostS.toFixed(1)} s late`;
    assert(handled > 0 && overdue === 0 && mostS <= allowed(LIMIT_S), `${seen}; ${overdue} open`);
    return seen;
  },
};

/**
 * Stops the process of a session that has claimed some deadlines by the first of the turns. Answers with it,
 * unless it had ended its batch by then.
 */
async function stopAtBatch({ rig }: Step): Promise<number | undefined> {
  const atBatch = async (): Promise<number | undefined> => {
    const [row] = await rig.rows<{ pid: number }>(
      `SELECT a.pid FROM pg_stat_activity a JOIN pg_locks l USING (pid)
        WHERE a.application_name = 'lastcall closers' AND a.backend_xid IS NOT NULL
          AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid = 1`,
    );
    return row?.pid;
  };
  const pid = await atBatch();
  if (pid === undefined) return undefined;
  process.kill(pid, 'SIGSTOP');
  if ((await atBatch()) === pid) return pid;
  process.kill(pid, 'SIGCONT');
  return undefined;
}
