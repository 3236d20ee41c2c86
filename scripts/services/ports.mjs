// Ports on this machine.
import { createServer } from 'node:net';

/**
 * Below those that any system gives to outgoing connections by itself (Linux from 32,768 on, others from
 * 49,152): a port of that range is soon taken by one of them, before its user listens or between two starts.
 */
const LOWEST = 20_000;
const HIGHEST = 32_767;
const TRIES = 100;
/** By this process: what nobody listens to yet is still free. */
const given = new Set();

/** Another process may still take it before its user does: callers try again then. */
export async function freePort() {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST + 1 - LOWEST));
    if (given.has(port) || (await obstacleAt(port))) continue;
    given.add(port);
    return port;
  }
  return await listenBriefly(0, '127.0.0.1');
}

/** @type {Readonly<Record<string, 'taken' | 'forbidden'>>} */
const OBSTACLES = { EADDRINUSE: 'taken', EACCES: 'forbidden' };

/**
 * Why a server of this user's could not listen on the port; undefined where it could. Asked on both
 * addresses, because macOS lets two servers share a port when one of them listens on all addresses
 * and the other on one.
 * @param {number} port
 * @returns {Promise<'taken' | 'forbidden' | undefined>}
 */
export async function obstacleAt(port) {
  try {
    await listenBriefly(port, '0.0.0.0');
    await listenBriefly(port, '127.0.0.1');
    return undefined;
  } catch (error) {
    const obstacle = OBSTACLES[/** @type {NodeJS.ErrnoException} */ (error).code ?? ''];
    if (obstacle) return obstacle;
    throw error;
  }
}

/**
 * @param {number} port
 * @param {string} host
 * @returns {Promise<number>}
 */
function listenBriefly(port, host) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => {
      const address = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => resolve(address.port));
    });
  });
}
