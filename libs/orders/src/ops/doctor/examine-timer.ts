import { timerDriverKind } from '@app/timeout';
import { type Config, REDIS_PREFIX } from '../../config';
import { type Check, expectation, mendOf, unknown } from './check';

/** Where the doctor looks at the store of this driver's alarms. */
export function lookAtStoreOf(driver: string): string {
  const kind = timerDriverKind(driver);
  if (kind.needs.includes('REDIS_URL')) return 'see the redis checks';
  return `see the ${kind.examine ? 'timer' : 'postgres'} checks`;
}

/** What the registration of the chosen timer driver has to say of its store. */
export async function examineTimer(config: Config): Promise<Check[]> {
  const kind = timerDriverKind(config.TIMER_DRIVER);
  if (!kind.examine) return [];
  const context = { settings: config, prefix: REDIS_PREFIX, onError: () => undefined };
  try {
    const findings = await kind.examine(context);
    return findings.map((one) => expectation('timer', one.name, one.isFine, one.detail, one.fix));
  } catch (error) {
    const fix = mendOf(error) ?? `start it, and check ${kind.needs.join(', ')}`;
    return [unknown('timer', kind.name, error, fix)];
  }
}
