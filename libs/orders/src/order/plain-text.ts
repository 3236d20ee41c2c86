/**
 * Text that people read: no control characters but line breaks and tabs, nothing that turns the
 * direction of writing or cannot be seen, no halves of characters. One rule for the API and the CLI.
 */
const FORBIDDEN = /[^\P{Cc}\n\t]|[\p{Cs}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/u;
export const PLAIN_TEXT_RULE = 'must not have control, invisible or direction characters';

const EACH_FORBIDDEN = new RegExp(FORBIDDEN, 'gu');

/** For a terminal or a log: what would act on one, or hide there, is shown as \u and its number. */
export function printableText(text: string): string {
  return text.replace(EACH_FORBIDDEN, numberOf);
}

/** As {@link printableText}, of a text that is a part of a line: what it quotes begins none. */
export function printableLine(text: string): string {
  return printableText(text).replaceAll('\n', numberOf);
}

function numberOf(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

export function isPlainText(text: string): boolean {
  return !FORBIDDEN.test(text);
}
