import { isIP } from 'node:net';
import { Refusal } from './home.mjs';

/**
 * What the app, or the sandbox, is to listen on, as both take it. Here already: the sandbox calls the app at its
 * address, and would name that setting instead.
 * @param {string} setting its name
 * @param {string | undefined} given its value
 */
export function refuseHost(setting, given) {
  if (given === undefined || isIP(given) !== 0) return;
  throw new Refusal(`${setting} must be an IP address such as 127.0.0.1, not "${given}"`);
}
