import { listWorkers, type WorkerView } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { isSilent } from '../statistics';
import { ago, type Check, expectation, finding } from './check';

export const START_WORKER = 'npm start, or ROLES=worker node dist/apps/api/src/main.js';
const CLOCK_LIMIT_MS = 1_000;

/** Each of them writes a heartbeat, and what it knows of its clock and its timer store. */
export async function examineWorkers(dataSource: DataSource): Promise<Check[]> {
  const workers = await listWorkers(dataSource);
  const alive = workers.filter((worker) => !isSilent(worker));
  const lastSweep = workers[0] ? `last sweep ${ago(workers[0].silentForMs)} ago` : 'never swept';
  return [
    expectation(
      'workers',
      'alive',
      alive.length > 0,
      alive.length > 0 ? alive.map(nameOf).join(', ') : `no worker; ${lastSweep}`,
      START_WORKER,
    ),
    ...workers
      .filter(isSilent)
      .map((worker) =>
        finding(
          'workers',
          nameOf(worker),
          `silent for ${ago(worker.silentForMs)}`,
          'see whether it hangs (its log, its process) and restart it',
        ),
      ),
    ...alive.flatMap((worker) => healthOf(worker)),
  ];
}

function healthOf(worker: WorkerView): Check[] {
  const checks: Check[] = [];
  if (!worker.timerStoreHealthy) {
    const detail = 'its timer store takes no alarms, or they ring late';
    checks.push(finding('workers', nameOf(worker), detail, 'see the redis checks'));
  }
  if (Math.abs(worker.clockOffsetMs) > CLOCK_LIMIT_MS) {
    const detail = `its clock is ${-worker.clockOffsetMs} ms ahead of the database's`;
    checks.push(finding('workers', nameOf(worker), detail, 'synchronise its clock (NTP)'));
  }
  return checks;
}

function nameOf({ host, pid }: WorkerView): string {
  return `${host}:${pid}`;
}
