import { randomUUID } from 'node:crypto';
import {
  constants,
  copyFile,
  link,
  mkdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AlarmStoreError } from '../alarm-store.error';

/** Folders that this very process has locked: its number alone may be a restarted container's. */
const lockedHere = new Set<string>();

/**
 * Two processes that append to one log would undo each other's records. Resolves with what unlocks.
 * @throws {AlarmStoreError} naming the process that has it, or what the folder must be
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(resolve(folder), 'owner');
  // Written before it gets the name that others look at: an empty one they would take for left behind.
  const own = `${file}-${randomUUID()}`;
  try {
    await makeFolder(resolve(folder));
    try {
      await writeFile(own, `${process.pid}`, { mode: 0o600 });
      while (!(await isGiven(file, own))) {
        const pid = await ownerIn(file);
        if (isInUse(file, pid)) throw usedBy(folder, pid);
        await takeAway(file, `${own}-before`);
      }
    } finally {
      await rm(own, { force: true });
    }
  } catch (error) {
    if (error instanceof AlarmStoreError) throw error;
    refuse(folder, error);
  }
  lockedHere.add(file);
  return async () => {
    lockedHere.delete(file);
    await rm(file, { force: true });
  };
}

/** True where this name was nobody's, and is that of what `from` has, too. */
async function isGiven(name: string, from: string): Promise<boolean> {
  try {
    // Not every disk has links: a copy is there a moment before what is in it.
    await link(from, name).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw error;
      return copyFile(from, name, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** What a process that was killed has left behind. Where somebody who saw that as well was faster, it is his, and put back. */
async function takeAway(file: string, aside: string): Promise<void> {
  try {
    await rename(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (isInUse(file, await ownerIn(aside))) await isGiven(file, aside);
  await rm(aside, { force: true });
}

const ownerIn = async (file: string): Promise<number> =>
  Number(await readFile(file, 'utf8').catch(() => '0'));

const isInUse = (file: string, pid: number): boolean =>
  pid === process.pid ? lockedHere.has(file) : isAlive(pid);

const usedBy = (folder: string, pid: number): AlarmStoreError =>
  new AlarmStoreError(
    `${folder} is used by process ${pid}: give each worker a TIMER_WHEEL_FOLDER of its own`,
  );

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
