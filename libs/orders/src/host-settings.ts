import { orElse } from '@app/timeout';
import { z } from 'zod';
import { SETTING_NAMES } from './config';

/** Settings that a host does not give by their names, and what says them instead. */
const SAID_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['DATABASE_SCHEMA', '`schema` says it'],
  ['DATABASE_URL', '`postgres` says it'],
  ['LASTCALL_HOME', 'a host has none'],
  ['PAYMENT_GRACE', '`windows.grace` says it'],
  ['PAYMENT_PROVIDER', '`payments` says it'],
  ['PAYMENT_PROVIDERS', '`payments` says it'],
  ['PAYMENT_WINDOW', '`windows.pay` says it'],
  ['RECEIVE_WITHIN', '`windows.receive` says it'],
  ['REDIS_URL', '`redis` says it'],
  ['ROLES', '`role` says it'],
  ['SHIP_WITHIN', '`windows.ship` says it'],
]);

const OTHERS = SETTING_NAMES.filter((name) => !SAID_ELSEWHERE.has(name)).sort();

/** The other settings, by their names: one that is misspelt would say nothing. */
export const HOST_SETTINGS = z
  .record(
    z.string(),
    z.string(orElse('a text')).optional(),
    orElse('texts by the names of settings'),
  )
  .superRefine((settings, context) => {
    for (const name of Object.keys(settings)) {
      const message = complaintOf(name);
      if (message) context.addIssue({ code: 'custom', path: [name], message });
    }
  });

function complaintOf(name: string): string | undefined {
  const elsewhere = SAID_ELSEWHERE.get(name);
  if (elsewhere) return `must be left out: ${elsewhere}`;
  if (OTHERS.some((other) => other === name)) return undefined;
  return `must be one that there is: ${OTHERS.join(', ')}`;
}
