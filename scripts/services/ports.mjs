// Ports on this machine.
import { createServer } from 'node:net';

/** Another process may still take it before its user does: callers try again then. */
export async function freePort() {
  return await listenBriefly(0, '127.0.0.1');
}

/**
 * Asked on both addresses, because macOS lets two servers share a port when one of them listens
 * on all addresses and the other on one.
 * @param {number} port
 */
export async function isPortFree(port) {
  try {
    await listenBriefly(port, '0.0.0.0');
    await listenBriefly(port, '127.0.0.1');
    return true;
  } catch {
    return false;
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
