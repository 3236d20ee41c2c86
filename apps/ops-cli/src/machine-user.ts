import { userInfo } from 'node:os';

/**
 * Who runs this process, as the operating system has it: what `--actor` says is anybody's choice.
 * A container may run as a user that has no name.
 */
export function machineUser(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
