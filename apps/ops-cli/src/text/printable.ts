/** What moves the cursor, colours, rings, hides or turns the direction of writing. */
const HIDDEN = String.raw`\p{Cs}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF`;
const UNPRINTABLE = new RegExp(String.raw`[\p{Cc}${HIDDEN}]`, 'gu');
/** What the API and the CLI refuse to take (libs/orders/src/order/plain-text.ts). */
const UNPRINTABLE_IN_LINES = new RegExp(String.raw`[^\P{Cc}\n\t]|[${HIDDEN}]`, 'gu');
const OUR_COLOURS = new RegExp(`(${String.fromCharCode(27)}\\[(?:1|2|22|31|32|33|39)m)`);

/** For one line of a terminal: what could move the cursor or hide is shown as \u and its number. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** For one cell of a table: our own colours pass. */
export function printableCell(text: string): string {
  return outsideColours(text, printable);
}

/**
 * For whatever is printed, last of all: our own colours and line breaks pass, and nothing else that
 * would act on the terminal, wherever in the text it came from.
 */
export function printableLines(text: string): string {
  return outsideColours(text, (part) => part.replace(UNPRINTABLE_IN_LINES, escaped));
}

/** JSON for a terminal: the same value, with no character in it that acts on one. */
export function printableJson(json: unknown, indent?: number): string {
  return JSON.stringify(json, null, indent).replace(UNPRINTABLE_IN_LINES, escaped);
}

function outsideColours(text: string, escape: (part: string) => string): string {
  return text
    .split(OUR_COLOURS)
    .map((part, i) => (i % 2 === 0 ? escape(part) : part))
    .join('');
}

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}
