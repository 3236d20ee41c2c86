import { Args, Flags } from '@oclif/core';
import { usageFailure } from './command-failure';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DURATION = /^(\d{1,9})(ms|s|m|h|d)$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** @throws {CommandFailure} usage, naming what was given */
export function parseId(text: string, what: string): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw usageFailure(
    `"${text}" is not the id of ${what}`,
    'an id looks like 0199f8a2-7c1e-7b3a-9d2f-6a1b2c3d4e5f; the list commands show them',
  );
}

/** An instant: ISO 8601, or a duration ago such as `7d`. */
export const instant = Flags.custom<Date>({
  helpValue: '7d|INSTANT',
  parse: async (text) => {
    const ago = DURATION.exec(text);
    const atMs = ago
      ? Date.now() - Number(ago[1]) * (UNIT_MS[ago[2] as string] as number)
      : /^\d{4}-\d\d-\d\d/.test(text)
        ? Date.parse(text)
        : NaN;
    if (!Number.isNaN(atMs) && atMs >= 0) return new Date(atMs);
    throw usageFailure(`"${text}" is no instant: give 30m, 7d, or 2026-05-01T10:00:00Z`);
  },
});

/** How many, and from where: of every command that lists. */
export const PAGE_FLAGS = {
  limit: Flags.integer({ description: 'at most so many', default: 20, min: 1, max: 1_000 }),
  cursor: Flags.string({ description: 'go on behind this; nextCursor of the page before' }),
};

/** One id, as the only argument. */
export const idArg = (what: string) =>
  Args.string({
    ignoreStdin: true,
    name: 'ID',
    description: `id of ${what}`,
    required: true,
    parse: async (text) => parseId(text, what),
  });
