import { differenceText, type RunningSettings } from '../running-settings';
import { type Check, finding, ok } from './check';

/** Whether all processes run with the same settings, and who asks was told of no others. */
export function examineProcesses({ processes, isAlive, differences }: RunningSettings): Check {
  const name = 'processes agree';
  if (differences.length > 0) {
    const detail = differences.map(differenceText).join('; ');
    const fix = 'start all with the same settings; those of a command are best left out';
    return finding('settings', name, detail, fix);
  }
  const count = processes.length === 1 ? '1 process' : `${processes.length} processes`;
  if (isAlive) return ok('settings', name, `${count} with the same settings`);
  return ok('settings', name, 'no process is alive to compare with');
}
