/** A name as SQL writes it, whatever it is. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
