import { listWorkers, type WorkerView } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { isSilent } from '../statistics';
import { ago, type Check, expectation, finding, warning } from './check';
import { lookAtStoreOf } from './examine-timer';

export const START_WORKER = 'npm start, or ROLES=worker node dist/apps/api/src/main.js';
const CLOCK_LIMIT_MS = 1_000;
/** One that others stand in for, and that is silent for longer, does not hang: it has ended. */
const ENDED_AFTER_MS = 3 * 60_000;

/** Each of them writes a heartbeat, and what it knows of its clock and its timer store: that of `driver`. */
export async function examineWorkers(dataSource: DataSource, driver: string): Promise<Check[]> {
  const workers = await listWorkers(dataSource);
  const alive = workers.filter((worker) => !isSilent(worker));
  return [
    expectation(
      'workers',
      'alive',
      alive.length > 0,
      // When a sweep last ran is not known: those that stopped as they should took that with them.
      alive.length > 0 ? alive.map(nameOf).join(', ') : 'no worker',
      START_WORKER,
    ),
    ...workers.filter(isSilent).map((worker) => silenceOf(worker, alive.length > 0)),
    ...alive.flatMap((worker) => healthOf(worker, driver)),
  ];
}

/** Who ends without a goodbye is remembered for a day: beside others that sweep it harms nobody. */
function silenceOf(worker: WorkerView, hasOthers: boolean): Check {
  const detail = `silent for ${ago(worker.silentForMs)}`;
  if (!hasOthers || worker.silentForMs <= ENDED_AFTER_MS) {
    const fix = 'see whether it hangs (its log, its process) and restart it';
    return finding('workers', nameOf(worker), detail, fix);
  }
  return warning(
    'workers',
    nameOf(worker),
    `${detail}: it has probably ended, without a clean shutdown`,
    'stop processes by SIGTERM, a host with enableShutdownHooks(); if it runs, see why it hangs. It is forgotten after a day',
  );
}

function healthOf(worker: WorkerView, driver: string): Check[] {
  const checks: Check[] = [];
  if (!worker.timerStoreHealthy) {
    const detail = 'its timer store takes no alarms, or they ring late';
    checks.push(finding('workers', nameOf(worker), detail, lookAtStoreOf(driver)));
  }
  const { clockOffsetMs: offsetMs } = worker;
  if (Math.abs(offsetMs) > CLOCK_LIMIT_MS) {
    const where = offsetMs > 0 ? 'behind' : 'ahead of';
    const detail = `its clock is ${Math.abs(offsetMs)} ms ${where} the database's`;
    checks.push(finding('workers', nameOf(worker), detail, 'synchronise its clock (NTP)'));
  }
  return checks;
}

function nameOf({ host, pid }: WorkerView): string {
  return `${host}:${pid}`;
}
