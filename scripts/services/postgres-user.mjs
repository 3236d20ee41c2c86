// Postgres refuses to run as root: the user it runs as instead.
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, statSync } from 'node:fs';

/**
 * @typedef {object} PostgresUser
 * @property {string} name
 * @property {number} [uid] absent: the user of this process
 * @property {number} [gid]
 */

/**
 * @param {string} [dataDir] kept by its owner if it exists
 * @returns {PostgresUser}
 */
export function postgresUser(dataDir) {
  if (process.getuid?.() !== 0) return { name: process.env.USER ?? 'the current user' };
  if (dataDir && existsSync(dataDir)) {
    const { uid, gid } = statSync(dataDir);
    if (uid !== 0) return { name: `user ${uid}`, uid, gid };
  }
  // initdb looks its user up, so the user has to have an entry: `id` finds it wherever it is kept.
  for (const name of ['postgres', 'nobody']) {
    const uid = idOf('-u', name);
    const gid = idOf('-g', name);
    if (uid !== null && gid !== null) return { name, uid, gid };
  }
  throw new Error(
    'Postgres does not run as root, and neither a user "postgres" nor "nobody" exists: ' +
      'create one, run as another user, or set DATABASE_URL',
  );
}

/** @param {'-u' | '-g'} flag @param {string} name */
function idOf(flag, name) {
  const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : null;
}

/**
 * Whether a user gets into a folder; a folder above it may be closed to them.
 * @param {string} folder
 * @param {PostgresUser} user
 */
export function canReach(folder, user) {
  if (user.uid === undefined) return true;
  return (
    spawnSync('/bin/sh', ['-c', 'cd -- "$0" && ls -d .', folder], {
      cwd: '/',
      uid: user.uid,
      gid: user.gid,
    }).status === 0
  );
}

/** @param {string} path @param {PostgresUser} user */
export function giveTo(path, user) {
  if (user.uid !== undefined && user.gid !== undefined) chownSync(path, user.uid, user.gid);
}
