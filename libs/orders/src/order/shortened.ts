/** Longer than anything that we say by ourselves. */
const MOST = 1_000;

/**
 * A text with what somebody else wrote in it, as an error tells it: where that is 15 kB, its two ends, as
 * our own words are there.
 */
export function shortened(text: string, most = MOST): string {
  if (text.length <= most) return text;
  const tail = Math.floor(most / 4);
  const begins = text.slice(0, most - tail).replace(/[\uD800-\uDBFF]$/, '');
  const ends = text.slice(-tail).replace(/^[\uDC00-\uDFFF]/, '');
  return `${begins} … (${text.length.toLocaleString('en')} characters) … ${ends}`;
}

/** The same of what a provider's code has said, whose `why` is its words, or somebody's whom it asked. */
export function shortenedWhy<T extends object>(said: T): T {
  const { why } = said as { readonly why?: unknown };
  return typeof why === 'string' ? { ...said, why: shortened(why) } : said;
}
