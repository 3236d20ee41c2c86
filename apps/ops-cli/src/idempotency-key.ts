import { randomUUID } from 'node:crypto';
import { Flags } from '@oclif/core';
import { usageFailure } from './command-failure';

/** For commands that a script may have to repeat, as it does not know what became of them. */
export const keyFlag = (of: string) =>
  Flags.string({
    description: `for scripts that try again: the same key stands for one ${of}, for two days`,
  });

/** As the API's header. */
const KEY = /^[\x21-\x7e]{1,200}$/;

/**
 * The one that is given, or one of its own for a command without.
 * @throws a failure of usage where it is none
 */
export function readKey(given: string | undefined): string {
  if (given === undefined) return randomUUID();
  if (KEY.test(given)) return given;
  throw usageFailure('--idempotency-key: give 1 to 200 visible ASCII characters');
}
