import { readdirSync, readFileSync } from 'node:fs';

/** CPU seconds, user and system, used by each part of an installation. */
export interface CpuSeconds {
  readonly node: number;
  readonly postgres: number;
  readonly redis: number;
}

export interface Pids {
  readonly node: readonly number[];
  readonly postgres: number;
  readonly redis: number;
}

/** `getconf CLK_TCK` on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

interface Stat {
  readonly parent: number;
  readonly group: number;
  readonly ownTicks: number;
  /** Of children that ended and were waited for. */
  readonly childTicks: number;
}

/** Reads what has been used so far; the difference of two readings is what the work took. */
export function readCpu(pids: Pids): CpuSeconds {
  return {
    node: pids.node.reduce((sum, pid) => sum + ownSeconds(pid), 0),
    postgres: familySeconds(pids.postgres),
    redis: ownSeconds(pids.redis),
  };
}

export function cpuBetween(before: CpuSeconds, after: CpuSeconds): CpuSeconds {
  return {
    node: after.node - before.node,
    postgres: after.postgres - before.postgres,
    redis: after.redis - before.redis,
  };
}

/** All of it, in microseconds, for each of so many pieces of work. */
export function cpuMicrosEach({ node, postgres, redis }: CpuSeconds, count: number): number {
  return (1e6 * (node + postgres + redis)) / count;
}

export function parentOf(pid: number): number {
  return readStat(pid)?.parent ?? 0;
}

/** All processes of a group that live: a broker, its scripts and its helpers. */
export function groupSeconds(group: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat?.group === group) ticks += stat.ownTicks;
  }
  return ticks / TICKS_PER_SECOND;
}

function ownSeconds(pid: number): number {
  return (readStat(pid)?.ownTicks ?? 0) / TICKS_PER_SECOND;
}

/** The postmaster, its children now, and those it has buried. */
function familySeconds(pid: number): number {
  const head = readStat(pid);
  let ticks = (head?.ownTicks ?? 0) + (head?.childTicks ?? 0);
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat?.parent === pid) ticks += stat.ownTicks + stat.childTicks;
  }
  return ticks / TICKS_PER_SECOND;
}

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name may hold spaces and brackets; the fields after it are numbers.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const at = (field: number): number => Number(fields[field - 3]);
    return { parent: at(4), group: at(5), ownTicks: at(14) + at(15), childTicks: at(16) + at(17) };
  } catch {
    return undefined;
  }
}
