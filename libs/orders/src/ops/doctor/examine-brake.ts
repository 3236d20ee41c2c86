import { BRAKED_KINDS } from '../../order/deadline-table';
import type { BrakeView } from '../timeout-brake';
import { type Check, finding, ok } from './check';

const OF_ORDERS: readonly string[] = BRAKED_KINDS;

/**
 * Whether timeouts have stopped themselves: what is due then waits for a person, and no sweep helps. Beside orders
 * those of a host are resumed by their kind.
 */
export function examineBrakes(stopped: readonly BrakeView[], areOrdersHere: boolean): Check[] {
  if (stopped.length === 0) return [ok('flow', 'timeouts', 'run')];
  return stopped.map(({ cause, kind, due, waiting, engagedAt }) => {
    const which = areOrdersHere && !OF_ORDERS.includes(kind) ? ` --kind ${kind}` : '';
    return finding(
      'flow',
      'timeouts',
      `stopped themselves at ${engagedAt.toISOString()} (${cause}), when ${due} of ${waiting} ${kind} deadlines were due`,
      `see that the cause is over (runbook, "Timeouts stopped"), then lastcall timeouts resume${which}`,
    );
  });
}
