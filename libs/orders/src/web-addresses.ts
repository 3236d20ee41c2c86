import { z } from 'zod';

/** Lists of web addresses in settings, apart by commas. Each is a list of who is allowed: no `*`. */

const list = (text: string): string[] => text.split(',').map((entry) => entry.trim());

const webUrl = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isWeb = url && (url.protocol === 'https:' || url.protocol === 'http:');
  return isWeb && url.username === '' && url.password === '' ? url : undefined;
};

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
