import type { TimeoutBrake } from '../timeout-brake';
import { type Check, finding, ok } from './check';

/** Whether timeouts have stopped themselves: what is due then waits for a person, and no sweep helps. */
export async function examineBrake(brake: Pick<TimeoutBrake, 'read'>): Promise<Check> {
  const view = await brake.read();
  if (!view) return ok('flow', 'timeouts', 'run');
  const { cause, kind, due, waiting, engagedAt } = view;
  return finding(
    'flow',
    'timeouts',
    `stopped themselves at ${engagedAt.toISOString()} (${cause}), when ${due} of ${waiting} ${kind} deadlines were due`,
    'see that the cause is over (runbook, "Timeouts stopped"), then lastcall timeouts resume',
  );
}
