import type { HostDeadline, SubjectRef } from './host-deadline';

/**
 * Both are kept in one entry of an index, of which three have to go into a page of 8 KiB: 2,704 bytes
 * (`BTMaxItemSize` of Postgres' nbtree.h), less what compresses.
 */
export const MOST_BYTES = { kind: 500, subjectId: 2_000 } as const;
/** NUL, and halves of characters. */
const NOT_KEPT = /[\0\p{Surrogate}]/u;
/** Years as everybody writes them: node-postgres and Postgres write others in ways of their own. */
const [EARLIEST_MS, BEHIND_ALL_MS] = [Date.parse('0001-01-01'), Date.parse('+010000-01-01')];

/**
 * @throws {TypeError} for a kind or subject that is no text, empty, too long, or of characters that no database
 *   keeps, and for a date that is none
 */
export function assertSound(deadline: HostDeadline): void {
  const { kind, subjectId, dueAt } = Object(deadline) as HostDeadline;
  if (!kind) throw new TypeError('A deadline has a kind: the one of its @DeadlineHandler');
  if (subjectId === '' || subjectId === undefined || subjectId === null) {
    throw new TypeError(`A deadline of kind "${kind}" has no subjectId`);
  }
  const wrong = whatIsWrong(deadline);
  if (wrong) throw new TypeError(`A deadline cannot be armed: its ${wrong}`);
  if (!(dueAt instanceof Date) || Number.isNaN(dueAt.getTime())) {
    throw new TypeError(`dueAt of "${kind}" for "${subjectId}" is no valid Date`);
  }
  if (dueAt.getTime() < EARLIEST_MS || dueAt.getTime() >= BEHIND_ALL_MS) {
    throw new TypeError(
      `dueAt of "${kind}" for "${subjectId}" is ${dueAt.toISOString()}: it has to be in the years 1 to 9999`,
    );
  }
}

/** @throws {TypeError} for a kind or a subject that is no text, as an id that is a number */
export function assertText(subject: SubjectRef): void {
  const wrong = whatIsNoText(subject);
  if (wrong) throw new TypeError(`A deadline cannot be found: its ${wrong}`);
}

/** False for what nobody can have armed. */
export const canBeArmed = (subject: SubjectRef): boolean => whatIsWrong(subject) === undefined;

function whatIsNoText(subject: SubjectRef): string | undefined {
  for (const name of ['kind', 'subjectId'] as const) {
    const text: unknown = subject[name];
    if (typeof text !== 'string') return `${name} is a ${typeof text}, where text is asked for`;
  }
  return undefined;
}

function whatIsWrong(subject: SubjectRef): string | undefined {
  const noText = whatIsNoText(subject);
  if (noText) return noText;
  for (const name of ['kind', 'subjectId'] as const) {
    const text = subject[name];
    if (NOT_KEPT.test(text)) {
      return `${name} has a character that Postgres does not keep`;
    }
    const most = MOST_BYTES[name];
    // No character has more than three bytes for each of its units.
    const bytes = text.length * 3 > most ? Buffer.byteLength(text) : 0;
    if (bytes > most) return `${name} has ${bytes} bytes: ${most} are the most`;
  }
  return undefined;
}
