import { listWorkers } from '@app/timeout';
import type { DataSource } from 'typeorm';
import type { ProcessView, RunningSettings } from '../running-settings';
import { isSilent } from '../statistics';
import { type Check, expectation } from './check';

const FIX =
  'start a worker of the host (role ring, with its hooks and its stock): till then commands change no orders';

/**
 * Whether workers are alive that have the host's own code: the hooks, or the stock, and each of the payment
 * providers that the host is known to have. They alone carry out what commands ask for. Nothing where there is none.
 */
export async function examineHooks(
  dataSource: DataSource,
  { host, withHooks, withProvider }: RunningSettings,
): Promise<Check[]> {
  if (!host.hasHooks && host.providers.length === 0) return [];
  const alive = (await listWorkers(dataSource)).filter((worker) => !isSilent(worker));
  const check = (
    name: string,
    having: readonly ProcessView[],
    missing: string,
    fix: string,
  ): Check => {
    const able = alive.filter((worker) =>
      having.some((one) => one.host === worker.host && one.pid === worker.pid),
    );
    const at = able.map((one) => `${one.host}:${one.pid}`).join(', ');
    return expectation('workers', name, able.length > 0, at ? `at ${at}` : missing, fix);
  };
  const hooks = "the host's hooks or stock are known, and no live worker has them";
  return [
    ...(host.hasHooks ? [check('hooks', withHooks, hooks, FIX)] : []),
    ...host.providers.map((name) =>
      check(
        `provider ${name}`,
        withProvider[name] ?? [],
        `${name} is a provider of the host's own, and no live worker has it`,
        `start a worker of the host that has ${name}: till then nobody asks it, and refunds wait`,
      ),
    ),
  ];
}
