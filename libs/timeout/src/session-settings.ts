/**
 * What an address of Postgres says of its sessions (`?options=-c ...`, `?application_name=...`), apart
 * from where it leads: node-postgres prefers an address to what a pool says beside it, so ours would
 * be lost.
 */
export function sessionAddress(address: string): { url: string; options: string | undefined } {
  if (!URL.canParse(address)) return { url: address, options: undefined };
  const url = new URL(address);
  const options = url.searchParams.get('options') ?? undefined;
  if (options === undefined && !url.searchParams.has('application_name')) {
    return { url: address, options };
  }
  url.searchParams.delete('options');
  url.searchParams.delete('application_name');
  return { url: url.href, options };
}

/** Settings of Postgres as a session's start-up options; those that are named again later win. */
export const startUpOptions = (settings: Readonly<Record<string, string | number>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${String(value).replace(/[\\ ]/g, '\\$&')}`)
    .join(' ');
