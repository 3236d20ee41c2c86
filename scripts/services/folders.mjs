// Folders that outlive a run.
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const projectFolder = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/**
 * A folder for what can be fetched or unpacked again. Beside the packages if possible, so that it
 * goes when they go; a clone that belongs to somebody else leaves the user's own cache.
 * @param {string} name
 */
export function cacheFolder(name) {
  const uid = process.getuid?.() ?? 0;
  const candidates = [
    join(projectFolder, 'node_modules', '.cache', 'lastcall'),
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'lastcall'),
    join(tmpdir(), `lastcall-cache-${uid}`),
  ];
  for (const candidate of candidates) {
    const folder = join(candidate, name);
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      accessSync(folder, constants.W_OK);
      // Programs are run from here, so nobody else may have put them there; but whoever owns the
      // project's own packages is trusted with more than that.
      if (candidate === candidates[0] || statSync(candidate).uid === uid)
        return realpathSync(folder);
    } catch {
      continue;
    }
  }
  throw new Error(`no folder to cache ${name} in: tried ${candidates.join(', ')}`);
}

/**
 * A folder that every user gets into, though root's mask may keep from others what root makes.
 * @param {string} folder
 */
export function folderForAll(folder) {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  return folder;
}

/**
 * A folder within `cache`: complete or not there at all, whoever else fills one at the same time.
 * @param {string} cache
 * @param {(folder: string) => void} fill
 * @returns {string}
 */
export function filledOnce(cache, fill) {
  const current = join(cache, 'current');
  if (existsSync(current)) return current;
  const folder = mkdtempSync(join(cache, 'new-'));
  try {
    fill(folder);
    // The user whom root runs Postgres as has to get in.
    chmodSync(folder, 0o755);
    renameSync(folder, current);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(current)) throw error;
  }
  return current;
}

/**
 * The real path of something that may not exist yet.
 * @param {string} path
 */
export function realPathOfNew(path) {
  mkdirSync(dirname(path), { recursive: true });
  return join(realpathSync(dirname(path)), basename(path));
}
