const UNPRINTABLE = /[\p{Cc}\p{Cs}\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/gu;

/** For one line of a terminal: what could move the cursor or hide is shown as \u and its number. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const number = character.codePointAt(0) ?? 0;
    return `\\u${number.toString(16).padStart(4, '0')}`;
  });
}
