import { usageFailure } from './command-failure';

/** Loaded when there is a text to look at: --help needs no core. */
export async function refuseUnprintable(flag: string, text: string): Promise<void> {
  const { isPlainText, PLAIN_TEXT_RULE } = await import('@app/orders/look');
  if (!isPlainText(text)) throw usageFailure(`${flag} ${PLAIN_TEXT_RULE}`);
}

/** For Flags.string. */
export const REASON = {
  description: 'why; it is kept with the change',
  helpValue: 'TEXT',
  parse: async (text: string): Promise<string> => {
    const reason = text.trim();
    const { ERASABLE_RULE, isErasable, REASON_LENGTH } = await import('@app/orders/look');
    const { min, max } = REASON_LENGTH;
    if (reason.length < min || reason.length > max) {
      throw usageFailure(`--reason must have ${min} to ${max} characters`);
    }
    if (!isErasable(reason)) throw usageFailure(`--reason ${ERASABLE_RULE}`);
    await refuseUnprintable('--reason', reason);
    return reason;
  },
};
