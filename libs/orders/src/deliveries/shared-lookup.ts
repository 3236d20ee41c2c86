import { type LookupAddress, lookup as dnsLookup, type LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Heard = (error: Error | null, addresses: LookupAddress[]) => void;

interface Wanted {
  readonly hostname: string;
  readonly options: Pick<LookupOptions, 'family' | 'hints'>;
  readonly heard: Heard[];
}

/** Where a name has an answer from before, no more than this is waited for a new one. */
const PATIENCE_MS = 250;
/** For so long an answer may take the place of a new one. */
const REMEMBERED_MS = 600_000;

/** Who waits for which name, the oldest first; the one that is being asked for is not among them. */
const waiting = new Map<string, Wanted>();
let asking: { readonly key: string; readonly heard: Heard[] } | undefined;
const answers = new Map<string, { readonly addresses: LookupAddress[]; readonly atMs: number }>();

/**
 * Looks a name up once for all who ask at the same time, and goes to it only where `whyNot` has no objection to its
 * addresses. Node looks up two names at once in the whole process, so this asks for one at a time: endpoints whose
 * nameservers are silent keep nobody from other names, as the payment provider's. Nor from endpoints that were found
 * before: those go to where they went within the last minutes, if there is no new answer at once.
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
  const others = asking?.key === key ? asking.heard : waiting.get(key)?.heard;
  const all = others ?? [];
  if (!others) waiting.set(key, { hostname, options: { family, hints }, heard: all });
  all.push(inTime(answerOf(key), heard));
  askNext();
}

/** Hears what was known before where nothing new comes soon, and nothing after that. */
function inTime(known: LookupAddress[] | undefined, heard: Heard): Heard {
  if (!known) return heard;
  let isOver = false;
  const hear: Heard = (...answer) => {
    clearTimeout(timer);
    if (!isOver) heard(...answer);
    isOver = true;
  };
  const timer = setTimeout(hear, PATIENCE_MS, null, known);
  return hear;
}

/** Those that were found before go first: that one of these takes long is the exception. */
function askNext(): void {
  if (asking) return;
  const queue = [...waiting];
  const [key, wanted] = queue.find(([one]) => answerOf(one)) ?? queue[0] ?? [];
  if (key === undefined || !wanted) return;
  const { hostname, options, heard } = wanted;
  waiting.delete(key);
  asking = { key, heard };
  dnsLookup(hostname, { ...options, all: true }, (error, addresses) => {
    asking = undefined;
    if (error) answers.delete(key);
    else answers.set(key, { addresses, atMs: performance.now() });
    askNext();
    for (const one of heard) one(error, addresses ?? []);
  });
}

function answerOf(key: string): LookupAddress[] | undefined {
  const answer = answers.get(key);
  if (answer && performance.now() - answer.atMs <= REMEMBERED_MS) return answer.addresses;
  answers.delete(key);
  return undefined;
}
