import { isIP } from 'node:net';
import {
  complaintAboutPostgresUrl,
  complaintAboutSchema,
  drainersHere,
  parseRedisUrl,
} from '@app/timeout';
import { z } from 'zod';
import { durationText, isTooLong, LONGEST_DURATION_MS, parseDuration } from '../duration';
import { WEB_URL_RULE, webUrl } from './web-addresses';

export const duration = z.string().transform((text, context) => {
  const durationMs = parseDuration(text);
  if (durationMs !== undefined) return durationMs;
  const wanted = isTooLong(text)
    ? `at most ${durationText(LONGEST_DURATION_MS)}`
    : 'a duration such as 250ms, 10s, 10m or 30d';
  context.addIssue(`must be ${wanted}, not "${text}"`);
  return z.NEVER;
});

export const positiveDuration = duration.refine(
  (durationMs) => durationMs > 0,
  'must be more than 0',
);

/** What is compared as a whole: a blank that nobody sees would make it differ. */
export const trimmed = z.string().trim().min(1, 'must not be blank');

/** `off` means that there is no limit or no deadline. */
export const orOff = <T extends z.ZodType>(schema: T) =>
  z.union([z.literal('off').transform(() => null), schema]);

export const wholeNumber = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return (
    z
      .string()
      .regex(/^\d+$/, error)
      .transform(Number)
      // Ended here, so that a union tells of its other words, too.
      .refine((n) => n >= min && n <= max, { error, abort: true })
  );
};

export const url = z.string().refine((text) => webUrl(text) !== undefined, WEB_URL_RULE);

/** Where a host is reached: paths there begin at its root. */
export const rootUrl = url.refine((text) => {
  const { pathname, search, hash } = webUrl(text) ?? new URL('http://x');
  return pathname === '/' && search + hash === '';
}, 'must have no path, ? or #: only a host, such as https://pay.example');

export const postgresUrl = z.string().superRefine((text, context) => {
  const complaint = complaintAboutPostgresUrl(text);
  if (complaint) context.addIssue(complaint);
});

export const schemaName = z.string().superRefine((name, context) => {
  const complaint = complaintAboutSchema(name);
  if (complaint) context.addIssue(complaint);
});

export const redisUrl = z.string().superRefine((text, context) => {
  try {
    parseRedisUrl(text);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

/** As a share of 1. */
export const percentage = z
  .string()
  .regex(/^([1-9]\d?|100)%$/, 'must be a percentage from 1% to 100%')
  .transform((text) => Number.parseInt(text, 10) / 100);

export const rateLimit = z.string().transform((text, context) => {
  const match = /^([1-9]\d{0,6})\/(s|m|h)$/.exec(text);
  if (match) return { limit: Number(match[1]), perMs: parseDuration(`1${match[2]}`) as number };
  context.addIssue(`must look like 300/m, with s, m or h, or be "off", not "${text}"`);
  return z.NEVER;
});

/** A secret that somebody could guess is worse than none: nobody would notice. */
export const strong = (weakness: (secret: string) => string | undefined) =>
  z.string().superRefine((secret, context) => {
    const message = weakness(secret);
    if (message) context.addIssue(message);
  });

/** Sent in a header, which takes no others of what a copied text may have in it. */
export const stripeKey = z
  .string()
  .regex(
    /^(?!pk_|whsec_)[!-~]+$/,
    'must be the secret key that Stripe shows: sk_live_..., or rk_live_... of a restricted one',
  );

export function tokenSecretWeakness(secret: string): string | undefined {
  if (secret.length < 32) return 'must have at least 32 characters';
  if (new Set(secret).size >= 8) return undefined;
  return 'can be guessed: openssl rand -base64 32 makes a good one';
}

/** Addresses and networks, as 10.0.0.0/8, apart by commas. */
export const networks = z.string().transform((text, context) => {
  const list = text.split(',').map((network) => network.trim());
  if (list.every(isNetwork)) return list;
  context.addIssue(`must be addresses or networks such as 10.0.0.0/8, not "${text}"`);
  return z.NEVER;
});

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] as number;
  if (longest < 0 || rest.length > 0) return false;
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= longest);
}

export const roles = z.string().transform((text, context) => {
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => name === 'api' || name === 'worker')) return new Set(names);
  context.addIssue(`must be "api", "worker" or "api,worker", not "${text}"`);
  return z.NEVER;
});

export type ProviderName = 'sandbox' | 'stripe';
export const PROVIDER_NAMES = ['sandbox', 'stripe'] as const satisfies readonly ProviderName[];

/** Those that we bring along; any other is of a host's own. */
export const isProviderName = (name: string): name is ProviderName =>
  PROVIDER_NAMES.some((one) => one === name);

type Names = readonly [string, ...string[]];

const namesIn = (text: string): Names => {
  const [first = '', ...others] = text.split(',').map((name) => name.trim());
  return [first, ...others];
};

export const providers = z.string().transform((text, context): Names => {
  const names = namesIn(text);
  if (names.every(isProviderName) && new Set(names).size === names.length) return names;
  context.addIssue(`must name each of ${PROVIDER_NAMES.join(', ')} once at most, not "${text}"`);
  return z.NEVER;
});

/** As processes tell of them: a host has given its own whatever names it likes. */
export const toldProviders = z.string().transform(namesIn);

export const granularity = z.union([
  // The library knows no orders: to it this is one alarm a subject.
  z.literal('order').transform(() => 'subject' as const),
  positiveDuration.refine((ms) => ms >= 10 && ms <= 60_000, 'must be "order" or 10ms to 1m'),
]);

export const drainers = z.union([
  z.literal('auto').transform(() => drainersHere()),
  wholeNumber(1, 16),
]);
