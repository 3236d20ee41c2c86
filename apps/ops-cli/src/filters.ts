import { Args, Flags } from '@oclif/core';
import { usageFailure } from './command-failure';

/** @throws {CommandFailure} usage, naming what was given */
export async function parseId(text: string, what: string): Promise<string> {
  // Loaded only now, as in every command: --help needs no core.
  const { isUuid } = await import('@app/orders/look');
  if (isUuid(text)) return text.toLowerCase();
  throw usageFailure(
    `"${text}" is not the id of ${what}`,
    'an id looks like 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f; the list commands show them',
  );
}

/** A day of UTC, or an instant with its time zone: without one it would be another instant on each machine. */
const INSTANT = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i;

/** An instant: ISO 8601, or a duration ago such as `7d`. */
export const instant = Flags.custom<Date>({
  helpValue: '7d|INSTANT',
  parse: async (text) => {
    const { parseDuration } = await import('@app/orders/look');
    const agoMs = parseDuration(text);
    const [, day] = INSTANT.exec(text) ?? [];
    const isDate = day !== undefined && isDay(day);
    const atMs = agoMs !== undefined ? Date.now() - agoMs : isDate ? Date.parse(text) : NaN;
    if (!Number.isNaN(atMs) && atMs >= 0) return new Date(atMs);
    throw usageFailure(
      `"${text}" is no instant: give 30m, 7d, or 2026-05-01T10:00:00Z, with its time zone`,
    );
  },
});

/** The thirtieth of February is the second of March to JavaScript. */
function isDay(text: string): boolean {
  const atMs = Date.parse(text);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(text);
}

/** An amount, or a range of them: `1250`, `1000..2000`, `1000..`, `..2000`. */
export const amountRange = Flags.custom<{ min?: number; max?: number }>({
  helpValue: '1250|1000..2000',
  parse: async (text) => {
    const [, from = '', range, to = ''] = /^(\d{0,14})(\.\.(\d{0,14}))?$/.exec(text) ?? [];
    if (from === '' && to === '') {
      throw usageFailure(`"${text}" is no amount: give 1250, 1000..2000, 1000.. or ..2000`);
    }
    const max = range === undefined ? from : to;
    return { ...(from ? { min: Number(from) } : {}), ...(max ? { max: Number(max) } : {}) };
  },
});

/** How many, and from where: of a command that lists what `what` is one of. */
export const pageFlags = (what: string) => ({
  limit: Flags.integer({ description: 'at most so many', default: 20, min: 1, max: 1_000 }),
  cursor: Flags.string({
    description: 'go on behind this; nextCursor of the page before',
    parse: (text) => parseId(text, what),
  }),
});

/** An id that need not be given. */
export const optionalIdArg = (what: string) =>
  Args.string({
    ignoreStdin: true,
    name: 'ID',
    description: `id of ${what}`,
    parse: (text) => parseId(text, what),
  });

/** One id, as the only argument. */
export const idArg = (what: string) =>
  Args.string({
    ignoreStdin: true,
    name: 'ID',
    description: `id of ${what}`,
    required: true,
    parse: (text) => parseId(text, what),
  });
