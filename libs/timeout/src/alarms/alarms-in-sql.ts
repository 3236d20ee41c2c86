import { type Granularity, slotEndInSql } from '../slots';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/** `alarmFor` in SQL: the id of a deadline's alarm. */
export function alarmIdInSql(granularity: Granularity): string {
  if (granularity === 'subject')
    return `kind || '-' || subject_id || '-' || version || '-' || (extract(epoch FROM due_at) * 1000)::bigint`;
  return `'slot-' || (${endOfSlot(granularity)})`;
}

/** And its instant. */
export function alarmAtInSql(granularity: Granularity): string {
  if (granularity === 'subject') return 'due_at';
  return `to_timestamp((${endOfSlot(granularity)} - ${Math.trunc(granularity)}) / 1000.0)`;
}

/**
 * True where some deadline calls for the alarm of this id, found by the instant in the id; NULL where none
 * does. `kinds` are those to look at.
 */
export function hasDeadlineInSql(granularity: Granularity, id: string, kinds: string): string {
  const at = (ms: string): string => `timestamptz 'epoch' + (${ms}) * interval '1 millisecond'`;
  if (granularity === 'subject') {
    const dueMs = `substring(${id} FROM '-([0-9]{1,15})$')::bigint`;
    const subjectId = `substring(${id} FROM '(${UUID})-[0-9]+-[0-9]+$')::uuid`;
    return `SELECT true FROM deadlines
             WHERE kind = ANY (${kinds}) AND due_at = ${at(dueMs)} AND subject_id = ${subjectId}
               AND due_at > now() AND ${alarmIdInSql(granularity)} = ${id} LIMIT 1`;
  }
  const slotMs = Math.trunc(granularity);
  const endMs = `substring(${id} FROM '^slot-([0-9]{1,15})$')::bigint`;
  return `SELECT true FROM deadlines
           WHERE kind = ANY (${kinds}) AND due_at > ${at(`${endMs} - ${slotMs}`)} AND due_at <= ${at(endMs)}
             AND due_at > now() AND ${endMs} % ${slotMs} = 0 LIMIT 1`;
}

const endOfSlot = (slotMs: number): string => slotEndInSql(String(Math.trunc(slotMs)));
