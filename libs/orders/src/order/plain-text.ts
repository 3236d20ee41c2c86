/**
 * Text that people read: no control characters but line breaks and tabs, nothing that turns the
 * direction of writing or cannot be seen, no halves of characters. One rule for the API and the CLI.
 */
const FORBIDDEN = /[^\P{Cc}\n\t]|[\p{Cs}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/u;
export const PLAIN_TEXT_RULE = 'must not have control, invisible or direction characters';

export function isPlainText(text: string): boolean {
  return !FORBIDDEN.test(text);
}
