import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AlarmStoreError } from '../alarm-store.error';

/** Folders that this very process has locked: its number alone may be a restarted container's. */
const lockedHere = new Set<string>();

/**
 * Two processes that append to one log would undo each other's records. Resolves with what unlocks.
 * @throws {AlarmStoreError} naming the process that has it, or what the folder must be
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await makeFolder(resolve(folder)).catch((error: unknown) => refuse(folder, error));
  const file = join(resolve(folder), 'owner');
  for (;;) {
    try {
      await writeFile(file, `${process.pid}`, { flag: 'wx', mode: 0o600 });
      lockedHere.add(file);
      return async () => {
        lockedHere.delete(file);
        await rm(file, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') refuse(folder, error);
    }
    const pid = Number(await readFile(file, 'utf8').catch(() => '0'));
    if (pid === process.pid ? lockedHere.has(file) : isAlive(pid)) {
      throw new AlarmStoreError(
        `${folder} is used by process ${pid}: give each worker a TIMER_WHEEL_FOLDER of its own`,
      );
    }
    // Left behind by a process that was killed.
    await rm(file, { force: true });
  }
}

/** With those above it. Node's own way to do so never ends where none can be made, as in /proc. */
async function makeFolder(folder: string): Promise<void> {
  const make = (): Promise<void> => mkdir(folder, { mode: 0o700 });
  try {
    await make();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Where it is a file, nothing can be written into it.
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT') throw error;
    await makeFolder(dirname(folder));
    await make();
  }
}

function refuse(folder: string, error: unknown): never {
  const wanted = 'a folder that this process can make and write to';
  throw new AlarmStoreError(`TIMER_WHEEL_FOLDER must be ${wanted}, not ${folder}`, error);
}

function isAlive(pid: number): boolean {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
