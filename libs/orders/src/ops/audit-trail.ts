import type { Queryable } from '../order/order-rows';
import { isInstant } from '../order/page';
import { isUuid } from '../order/uuid';

/** Who did what to what, and why. */
export interface AuditEntry {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subjectKind: string;
  readonly subjectId: string;
  readonly reason: string;
}

export interface AuditPage {
  readonly items: readonly AuditEntry[];
  /** What asks for the entries behind these; null at the end. */
  readonly nextCursor: string | null;
}

/** How far each of the two books has been read: an action's id; an event's instant, order, version. */
const CURSOR = /^(\d{0,18})_(?:([\d:.TZ-]{24})_([\da-f-]{36})_(\d{1,9}))?$/;

/** True for what was a `nextCursor`. */
export function isAuditCursor(text: string): boolean {
  const [match, , at, orderId] = CURSOR.exec(text) ?? [];
  if (match === undefined) return false;
  return at === undefined || (isUuid(orderId ?? '') && isInstant(at));
}

interface Row extends AuditEntry {
  readonly key: string;
  readonly version: number;
}

const PAGE = 100;
const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;
/** Before anything has been read. */
const FROM_THE_TOP = {
  id: '9223372036854775807',
  at: 'infinity',
  orderId: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  version: 2_147_483_647,
};

/**
 * What operators did, newest first: to orders, which stands in their history, and to what has no
 * history of its own. Two books, each read along its index from where the page before has left it.
 */
export async function readAuditTrail(sql: Queryable, cursor?: string): Promise<AuditPage> {
  const [, id, at, orderId, version] = CURSOR.exec(cursor ?? '') ?? [];
  const [actions, events] = await Promise.all([
    sql.rows<Row>(ACTIONS, [id || FROM_THE_TOP.id, PAGE + 1]),
    sql.rows<Row>(EVENTS, [
      ...[at ?? FROM_THE_TOP.at, orderId ?? FROM_THE_TOP.orderId],
      ...[version ?? FROM_THE_TOP.version, PAGE + 1],
    ]),
  ]);
  const items: Row[] = [];
  const read = { actions: 0, events: 0 };
  while (items.length < PAGE) {
    const [action, event] = [actions[read.actions], events[read.events]];
    if (!action && !event) break;
    const isAction = action !== undefined && (event === undefined || action.at >= event.at);
    items.push((isAction ? action : event) as Row);
    read[isAction ? 'actions' : 'events'] += 1;
  }
  if (read.actions === actions.length && read.events === events.length) {
    return { items: items.map(entryOf), nextCursor: null };
  }
  const event = events[read.events - 1];
  const before = at === undefined ? '' : [at, orderId, version].join('_');
  const eventUntil = event ? [event.at, event.key, event.version].join('_') : before;
  const nextCursor = `${actions[read.actions - 1]?.key ?? id ?? ''}_${eventUntil}`;
  return { items: items.map(entryOf), nextCursor };
}

const entryOf = ({ key: _, version: __, ...entry }: Row): AuditEntry => entry;

const ACTIONS = `
  SELECT id::text AS key, 0 AS version, to_char(at AT TIME ZONE 'UTC', ${ISO}) AS at,
         actor, action, subject_kind AS "subjectKind", subject_id AS "subjectId", reason
    FROM operator_actions WHERE id < $1 ORDER BY id DESC LIMIT $2`;

const EVENTS = `
  SELECT newest.order_id AS key, newest.version,
         to_char(newest.at AT TIME ZONE 'UTC', ${ISO}) AS at, e.actor, e.type AS action,
         'order' AS "subjectKind", newest.order_id AS "subjectId", e.reason
    FROM (SELECT order_id, version, at FROM operator_events
           WHERE (at, order_id, version) < ($1::timestamptz, $2::uuid, $3::int)
           ORDER BY at DESC, order_id DESC, version DESC LIMIT $4) AS newest,
         LATERAL (SELECT actor, type, reason FROM order_events
                   WHERE order_id = newest.order_id AND version = newest.version LIMIT 1) AS e
   ORDER BY newest.at DESC, newest.order_id DESC, newest.version DESC`;
