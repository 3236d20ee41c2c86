import { freePort, obstacleAt } from '../services/ports.mjs';
import { Refusal } from './home.mjs';

const NEXT_PORTS_TRIED = 100;

/**
 * A port somebody asked for is that port or an error; a default gives way to the next free one.
 * @param {object} wish
 * @param {string} wish.setting its name
 * @param {string | undefined} wish.given its value
 * @param {number} wish.standard
 * @param {number[]} wish.taken by us, though perhaps not yet listened on
 * @param {(line: string) => void} say
 * @returns {Promise<string>}
 */
export async function choosePort({ setting, given, standard, taken }, say) {
  if (given !== undefined) return await checkGiven({ setting, given, taken });
  for (let port = standard; port < standard + NEXT_PORTS_TRIED; port += 1) {
    if (taken.includes(port) || (await obstacleAt(port))) continue;
    if (port !== standard)
      say(`Port ${standard} is taken: using ${port} (${setting} sets another)`);
    return String(port);
  }
  throw new Refusal(`no free port from ${standard} on: set ${setting}`);
}

/** @param {{ setting: string, given: string, taken: number[] }} wish */
async function checkGiven({ setting, given, taken }) {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : NaN;
  // Here already: the sandbox's settings are made of it, and would be named in its stead.
  if (!(port <= 65_535))
    throw new Refusal(`${setting} must be a whole number from 0 to 65535, not "${given}"`);
  if (port === 0) return String(await freePort());
  const obstacle = taken.includes(port) ? 'taken' : await obstacleAt(port);
  if (obstacle === undefined) return given;
  throw new Refusal(
    obstacle === 'taken'
      ? `${setting}=${port} is taken: stop what uses it, or set another port`
      : `${setting}=${port} is one that this user may not listen on: set another port`,
  );
}
