import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

/**
 * How long this machine has been up, which no setting of a clock moves. Where a container is told its own uptime
 * (lxcfs), {@link bootId} is the machine's all the same: of the two, the monotonic clock is what no container begins
 * anew. Where a machine slept, it is behind.
 */
export function machineUptimeMs(): number {
  const monotonicMs = Number(process.hrtime.bigint() / 1_000_000n);
  return Math.max(uptime() * 1_000, monotonicMs);
}

/** Names one run of this machine's kernel; undefined where the system does not say. */
export function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}
