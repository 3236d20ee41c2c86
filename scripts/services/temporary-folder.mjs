// Where data that is gone after a run is kept meanwhile.
import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { canReach, postgresUser } from './postgres-user.mjs';

/** Linux keeps it in memory, and lets everybody write there; a container's has 64 MB as a rule. */
const IN_MEMORY = '/dev/shm';
/** The tests have 150 MB there at once, those with a million orders 2.4 GB. */
const ROOM_BYTES = 4 * 2 ** 30;

/**
 * All folders that {@link temporaryFolder} may have answered with: what a run that was killed has left
 * may be in any of them.
 */
export function temporaryFolders() {
  const folders = [IN_MEMORY, tmpdir(), '/tmp', '/var/tmp'].filter(isWritable);
  return [...new Set(folders)];
}

/**
 * The user of Postgres gets into it: TMPDIR may be a private folder of root's. A database is hundreds of
 * files, and tests make one after the other: what need not be `durable` is in memory, where there is room.
 * @param {{ durable: boolean }} how
 */
export function temporaryFolder({ durable }) {
  const folders = temporaryFolders().filter(
    (folder) => folder !== IN_MEMORY || (!durable && hasRoom(folder)),
  );
  const user = postgresUser();
  return folders.find((folder) => canReach(folder, user)) ?? tmpdir();
}

/** @param {string} folder */
function hasRoom(folder) {
  const { bavail, bsize } = statfsSync(folder);
  // A container's limit counts, and what others have taken of the memory; half of what is left stays theirs.
  return bavail * bsize >= ROOM_BYTES && process.availableMemory() >= 2 * ROOM_BYTES;
}

/** @param {string} folder */
function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
