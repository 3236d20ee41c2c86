import { listWorkers } from '@app/timeout';
import type { DataSource } from 'typeorm';
import type { RunningSettings } from '../running-settings';
import { isSilent } from '../statistics';
import { type Check, expectation } from './check';

const FIX =
  'start a worker of the host (role ring, with its hooks and its stock): till then commands change no orders';

/**
 * Whether a worker is alive that has the hooks, or the stock, that the host is known to have: it alone
 * carries out what commands ask for. Nothing where there are none.
 */
export async function examineHooks(
  dataSource: DataSource,
  { host, withHooks }: RunningSettings,
): Promise<Check[]> {
  if (!host.hasHooks) return [];
  const alive = (await listWorkers(dataSource)).filter((worker) => !isSilent(worker));
  const able = alive.filter((worker) =>
    withHooks.some((one) => one.host === worker.host && one.pid === worker.pid),
  );
  const detail =
    able.length > 0
      ? `at ${able.map((one) => `${one.host}:${one.pid}`).join(', ')}`
      : "the host's hooks or stock are known, and no live worker has them";
  return [expectation('workers', 'hooks', able.length > 0, detail, FIX)];
}
