/** What who waits for others says where nobody else is told. */
export const warn = (text: string): void => process.emitWarning(text);
