import type { OrderStatus } from './order.lifecycle';

/** What waits for deadlines of one kind, until when, and what may stop them. */
type DeadlineRule = {
  /** When a waiting row is due, as SQL over the row; NULL: never. See {@link AT_ONCE}. */
  readonly dueAt: string;
  /** The column that switches the deadline off by being NULL, as a part of `dueAt`; null: none. */
  readonly offWhenNull: string | null;
  /**
   * For how long its handler puts off what it finds undecided, as an SQL interval; null: it never
   * does, or not by a row's instant ({@link AT_ONCE}).
   */
  readonly putOffBy: string | null;
  /** What counts the deadlines of one row, as SQL over the row. */
  readonly version: string;
  /**
   * True where nobody can undo what it does to an order: the brake stops it. The others ask
   * somebody outside, or carry on what was decided.
   */
  readonly stopsForBrake: boolean;
} & (
  | { readonly table: 'orders'; readonly status: OrderStatus }
  | { readonly table: 'refunds' | 'webhook_events'; readonly status: string | readonly string[] }
);

/** Due when it is armed; its handler puts it off until somebody outside has answered. */
const AT_ONCE = 'now()';

/**
 * Every kind of deadline there is: which rows wait for it (their `id` is its subject), while they
 * have which status. Whatever has to know kinds reads it here. The handler of a kind is
 * `<kind>.deadline.ts`, in the room of what it does; deadline-handlers.ts finds it.
 * `invariants.sql` states the same once more, so that it depends on nothing it checks.
 */
export const DEADLINES = {
  payment: {
    table: 'orders',
    status: 'pending_payment',
    dueAt: 'closes_at',
    offWhenNull: 'closes_at',
    putOffBy: null,
    version: 'version',
    stopsForBrake: true,
  },
  closing: {
    table: 'orders',
    status: 'closing',
    dueAt: AT_ONCE,
    offWhenNull: null,
    putOffBy: null,
    version: 'version',
    stopsForBrake: false,
  },
  shipment: {
    table: 'orders',
    status: 'paid',
    dueAt: "paid_at + ship_within_ms * interval '1 millisecond'",
    offWhenNull: 'ship_within_ms',
    putOffBy: '1 hour',
    version: 'version',
    stopsForBrake: true,
  },
  receipt: {
    table: 'orders',
    status: 'shipped',
    dueAt: "shipped_at + receive_within_ms * interval '1 millisecond'",
    offWhenNull: 'receive_within_ms',
    putOffBy: '1 hour',
    version: 'version',
    stopsForBrake: true,
  },
  refund: {
    table: 'refunds',
    status: ['requested', 'pending', 'failed'],
    dueAt: AT_ONCE,
    offWhenNull: null,
    putOffBy: null,
    version: 'attempt',
    stopsForBrake: false,
  },
  webhook: {
    table: 'webhook_events',
    status: 'received',
    dueAt: AT_ONCE,
    offWhenNull: null,
    putOffBy: null,
    version: '1',
    stopsForBrake: false,
  },
} as const satisfies Readonly<Record<string, DeadlineRule>>;

export type DeadlineKind = keyof typeof DEADLINES;

const RULES = Object.entries(DEADLINES) as [DeadlineKind, DeadlineRule][];
const kindsWhere = (holds: (rule: DeadlineRule) => boolean): DeadlineKind[] =>
  RULES.filter(([, rule]) => holds(rule)).map(([kind]) => kind);

export const DEADLINE_KINDS: readonly DeadlineKind[] = kindsWhere(() => true);

/** What the brake stops. */
export const BRAKED_KINDS = kindsWhere(({ stopsForBrake }) => stopsForBrake);

/** Kinds with an instant of their own, and those that are armed again and again until an answer. */
export const TIMED_KINDS = kindsWhere(({ dueAt }) => dueAt !== AT_ONCE);
export const ASKING_KINDS = kindsWhere(({ dueAt }) => dueAt === AT_ONCE);

/** The tables whose rows wait for deadlines. */
export const SUBJECT_TABLES = [...new Set(RULES.map(([, { table }]) => table))];

/** The deadline of orders with this status: its kind, and when it is due, as in {@link DEADLINES}. */
export function deadlineOf(
  status: OrderStatus,
): { readonly kind: DeadlineKind; readonly dueAt: string } | undefined {
  const found = RULES.find(([, rule]) => rule.table === 'orders' && rule.status === status);
  return found && { kind: found[0], dueAt: found[1].dueAt };
}

/** SQL over an order's row: this status has timed out, by the database's clock. */
export function isOverdue(status: OrderStatus): string {
  const deadline = deadlineOf(status);
  if (!deadline) throw new Error(`Orders that are ${status} wait for no deadline`);
  return `${deadline.dueAt} <= now()`;
}

/** These words as an SQL list. */
export const inList = (words: readonly string[]): string =>
  words.map((word) => `'${word}'`).join(', ');

/**
 * Everything that waits for a deadline now, as SQL: kind, subject_id, due_at and version; and `latest`,
 * the last instant for which its handler may have put it off by now.
 */
export const WAITING = RULES.map(
  ([kind, { table, status, dueAt, offWhenNull, putOffBy, version }]) =>
    `SELECT '${kind}' AS kind, id AS subject_id, ${dueAt} AS due_at, ${version} AS version,
            CASE WHEN ${dueAt} > now() THEN ${dueAt}
                 ELSE now() + interval '${putOffBy ?? '0'}' END AS latest
       FROM ${table}
      WHERE status IN (${inList([status].flat())})
            ${offWhenNull ? `AND ${offWhenNull} IS NOT NULL` : ''}`,
).join(' UNION ALL ');

/** SQL over a deadline `h`, armed or held: its subject is there, and waits for it no more. */
export const MOVED_ON = RULES.map(
  ([kind, { table, status, offWhenNull }]) =>
    `h.kind = '${kind}' AND EXISTS (
       SELECT FROM ${table} s WHERE s.id = h.subject_id
          AND (s.status NOT IN (${inList([status].flat())})${offWhenNull ? ` OR s.${offWhenNull} IS NULL` : ''}) OFFSET 0)`,
).join(' OR ');
