import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from './problem';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * True for hosts that no public name can stand for: this machine, an address, or a name without a
 * dot, as containers have. A page of the web may have its own name lead to 127.0.0.1.
 */
function isNear(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(name) !== 0 || !name.includes('.');
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Where webhooks may go: this machine, or the host that whoever started the sandbox has named. */
export function mayReceive(url: string, configured: string): boolean {
  const { hostname } = new URL(url);
  return LOOPBACK.test(hostname) || hostname === new URL(configured).hostname;
}

/** A sandbox's own settings: this machine, by whichever of its addresses, or another container. */
export function isOwnReceiver(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  return LOOPBACK.test(hostname) || !/[.:]/.test(hostname) || isOfThisMachine(hostname);
}

function isOfThisMachine(hostname: string): boolean {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return Object.values(networkInterfaces()).some((own) =>
    own?.some(({ address }) => address === bare),
  );
}

/**
 * Nobody signs in here, so a page of somebody's in the browser of whoever runs this could pay,
 * refund and switch faults on. Browsers say where a request comes from; other programs say nothing.
 */
export function refuseOtherOrigins(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (!isNear(request.hostname)) {
      throw new Refusal(403, 'foreign_host', 'The sandbox is asked by its address only.');
    }
    if (READS.has(request.method) || isOwnPage(request)) return;
    throw new Refusal(403, 'foreign_origin', 'Pages of others may change nothing here.');
  });
}

function isOwnPage({ headers }: FastifyRequest): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  return origin === undefined || origin === `http://${host}`;
}
