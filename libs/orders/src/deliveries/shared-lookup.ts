import { type LookupAddress, lookup as dnsLookup, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Heard = (error: Error | null, addresses: LookupAddress[]) => void;

/** Who waits for which name. */
const waiting = new Map<string, Heard[]>();

/**
 * Looks a name up once for all who ask at the same time, and goes to it only where `whyNot` has no objection to its
 * addresses. Node looks up two names at once in the whole process: many that ask a silent nameserver for one name
 * would keep everybody else from theirs.
 */
export const sharedLookup =
  (whyNot: (hostname: string, addresses: readonly LookupAddress[]) => Error | undefined) =>
  (...[hostname, options, callback]: Parameters<LookupFunction>): void =>
    lookUpAll(hostname, options, (failure, addresses) => {
      const error = failure ?? whyNot(hostname, addresses) ?? null;
      const [first] = addresses;
      if (options.all && !error) callback(null, addresses);
      else callback(error, error ? '' : (first?.address ?? ''), first?.family ?? 0);
    });

function lookUpAll(hostname: string, { family, hints }: LookupOptions, heard: Heard): void {
  const key = JSON.stringify([hostname, family, hints]);
  const others = waiting.get(key);
  if (others) return void others.push(heard);
  const all = [heard];
  dnsLookup(hostname, { family, hints, all: true }, (error, addresses) => {
    waiting.delete(key);
    for (const one of all) one(error, addresses ?? []);
  });
  waiting.set(key, all);
}
