/** With U+FFFD for what Postgres keeps in no text: NUL, and halves of surrogate pairs, which escapes can smuggle in. */
export const storableText = (text: string): string =>
  text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
