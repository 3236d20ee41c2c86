import { AwakeTime } from '../../libs/timeout/src/testing/awake-time';
import { slowness } from './slowness';

/**
 * For limits that are promised on a machine of one's own: answers with the milliseconds since it was
 * started in which this process was awake, as if nobody else wanted the cores.
 */
export function startStopwatch(): () => number {
  const time = new AwakeTime();
  return () => {
    time.stop();
    return time.nowMs / slowness();
  };
}
