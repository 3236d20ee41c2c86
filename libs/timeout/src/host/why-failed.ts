import { types } from 'node:util';
import { causesOf, wordsOf } from '../causes';
import { isInfrastructureError, sqlStateOf } from '../database/database-errors';
import { UnansweredError } from '../draining/handle-claimed';
import { isObject } from './option-kinds';

/** For whom handlers threw what is an object, for as long as that is known to anybody. */
const subjects = new WeakMap<object, string>();

/** @param subjectId the only one that its handler was called for, by the host's own id */
export function noteSubject(error: unknown, subjectId: string): void {
  // Also what is no error by its birth, as a DOMException, which ends a call that took too long.
  if (isObject(error)) subjects.set(error, subjectId);
}

/** The subject that this was thrown for, where it was thrown for one alone. */
export const subjectOf = (error: unknown): string | undefined =>
  isObject(error) ? subjects.get(error) : undefined;

/** Its stack, where it is of somebody's code; not where a server says it, or nobody has answered. */
export function stackOf(error: unknown): string | undefined {
  if (!types.isNativeError(error) || error instanceof UnansweredError) return undefined;
  const isOfServer = sqlStateOf(error) !== undefined || isInfrastructureError(error);
  if (isOfServer || error.stack === undefined) return undefined;
  return [error.stack, ...causesBehind(error, error.stack)].join('\n  caused by: ');
}

export const messageOf = (error: unknown): string =>
  types.isNativeError(error)
    ? [wordsOf(error), ...causesBehind(error, wordsOf(error))].join(': ')
    : String(error);

/** All that leads to it: the stack, or else the message, and what has caused it. */
export const whyFailed = (error: unknown): string => stackOf(error) ?? messageOf(error);

/** What has caused an error, as far as it has not `said` so itself: of `fetch failed` it is all there is to know. */
const causesBehind = (error: Error, said: string): string[] =>
  [...causesOf(error)].map(wordsOf).filter((words) => !said.includes(words));
