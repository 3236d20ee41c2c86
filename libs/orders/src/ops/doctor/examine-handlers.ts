import { listWorkers } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { isSilent } from '../statistics';
import { ago, type Check, expectation } from './check';

const FIX =
  'mend what the handler fails with, or roll back what was deployed or migrated last: nothing is held meanwhile, and the kind goes on by itself';

/** Whether a handler fails for all of its kind, of a host's kinds as of orders': by what living workers last said. */
export async function examineHandlers(dataSource: DataSource): Promise<Check> {
  const alive = (await listWorkers(dataSource)).filter((worker) => !isSilent(worker));
  const stopped = alive.flatMap(({ host, pid, silentForMs, stoppedKinds }) =>
    stoppedKinds.map(
      ({ kind, reason, forMs }) =>
        `${JSON.stringify(kind)} for all, at ${host}:${pid} for ${ago(forMs + silentForMs)}: ${reason}`,
    ),
  );
  const isWell = stopped.length === 0;
  const detail = isWell ? 'none fails for all' : `fails ${stopped.join('; fails ')}`;
  return expectation('workers', 'handlers', isWell, detail, FIX);
}
