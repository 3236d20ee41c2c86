import { z } from 'zod';

/** Lists of web addresses in settings, apart by commas. Each is a list of who is allowed: no `*`. */

const list = (text: string): string[] => text.split(',').map((entry) => entry.trim());

/** Origins as browsers send them: `https://shop.example`, without a path or a slash at the end. */
export const origins = z.string().transform((text, context): ReadonlySet<string> => {
  const entries = list(text);
  for (const entry of entries) {
    const origin = webUrl(entry)?.origin;
    if (origin === entry) continue;
    const meant = origin ? `; write "${origin}"` : ' such as https://shop.example';
    context.addIssue(`must be origins, and "${entry}" is not one${meant}`);
  }
  return new Set(entries);
});

/** Addresses under which a page may be gone to: origin, and path to the end of a segment. */
export const addressPrefixes = z.string().transform((text, context): readonly string[] => {
  const entries = list(text);
  return entries.map((entry) => {
    const url = webUrl(entry);
    if (url && url.search === '' && url.hash === '') return url.href;
    context.addIssue(
      `must be addresses such as https://shop.example/checkout, without ? and #, not "${entry}"`,
    );
    return entry;
  });
});

export const WEB_URL_RULE =
  'must be a URL that begins with http:// or https://, without a user and a password';

/** Undefined for what is no address of the web, or brings a name and a password. */
export function webUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isWeb = url && (url.protocol === 'https:' || url.protocol === 'http:');
  return isWeb && url.username === '' && url.password === '' ? url : undefined;
}
