import type { DataSource } from 'typeorm';
import { inTransaction } from '../database/in-transaction';
import { queryRows } from '../database/query-rows';
import type { Transaction } from '../database/transaction';

/** The cause that ends by nobody but an operator. */
export const CLOCK_JUMPED = 'clock_jumped';

/** Why the brake is on: so many of a kind's deadlines were due at once, and something was wrong. */
export interface BrakeFacts {
  readonly cause: string;
  readonly kind: string;
  readonly due: number;
  readonly waiting: number;
}

/** As it is in the table, by an id of its own each time. */
export interface Put extends BrakeFacts {
  readonly id: string;
}

export interface On extends Put {
  readonly onForMs: number;
}

/** SQL: it stops one of these kinds. What else is on in the schema is another one's, as a host's beside orders. */
const isOn = (kinds: string): string => `released_at IS NULL AND kind = ANY (${kinds})`;
/** SQL: true while timeouts of these kinds stand still. */
export const areBraked = (kinds: string): string =>
  `EXISTS (SELECT FROM timeout_brakes WHERE ${isOn(kinds)})`;

/** On for so long at least: whatever shows that its cause is over was seen after it began. */
const ON_FOR = "interval '1 minute'";
/** Who releases one whose cause is over: nobody has looked at what is due, and it may be stopped anew. */
const BY_ITSELF = 'brake';
/** Whoever confirmed has seen what is due: it may all be handled before anybody asks again, but for a later jump. */
const CONFIRMED_FOR = "interval '15 minutes'";

/** Of a kind so many are due, and at least so many wait in all. */
type KindDue = Omit<BrakeFacts, 'cause'>;

export interface Judged {
  readonly kinds: readonly string[];
  /** The share of a kind's deadlines that may be due at once; null: any. */
  readonly share: number | null;
  /** Fewer than that are no disaster. */
  readonly fewest: number;
  /** Nobody who confirmed before this had seen what is wrong now; null: they had. */
  readonly since: Date | null;
}

/**
 * The kind of which most are due at once, where that is too large a share of it, and nobody has confirmed it.
 * Of what waits no more is counted than tells so: a month's deadlines cost nothing.
 */
export async function worstKind(
  dataSource: DataSource,
  { kinds, share, fewest, since }: Judged,
): Promise<KindDue | undefined> {
  const many = await queryRows<{ kind: string; due: number }>(
    dataSource,
    `SELECT kind, due::int FROM unnest($1::text[]) AS kind,
       LATERAL (SELECT count(*) AS due FROM deadlines d
                 WHERE d.kind = kind.kind AND due_at <= now()) AS now_due
      WHERE due >= $2
        AND NOT EXISTS (SELECT 1 FROM timeout_brakes b
                         WHERE released_at > now() - ${CONFIRMED_FOR} AND released_at <= now()
                           AND released_at > coalesce($4::timestamptz, '-infinity')
                           AND released_by <> $3 AND b.kind = ANY ($1))
      ORDER BY due DESC`,
    [kinds, fewest, BY_ITSELF, since],
  );
  for (const { kind, due } of many) {
    const enough = share ? Math.ceil(due / share) : null;
    const [row] = await queryRows<{ waiting: number }>(
      dataSource,
      `SELECT count(*)::int AS waiting
         FROM (SELECT FROM deadlines WHERE kind = $1 LIMIT $2::bigint) AS counted`,
      [kind, enough],
    );
    const waiting = row?.waiting ?? 0;
    if (enough === null || waiting < enough) return { kind, due, waiting };
  }
  return undefined;
}

/** Of what the row is kept, for those who are told. */
export const factsOf = ({ cause, kind, due, waiting }: BrakeFacts): BrakeFacts => ({
  cause,
  kind,
  due,
  waiting,
});

/** What the database's clock says, and why these kinds stand still, where they do. */
export async function readOn(
  dataSource: DataSource,
  kinds: readonly string[],
): Promise<{ readonly now: Date; readonly on: On | null }> {
  const [seen] = await queryRows<{ now: Date; on: On | null }>(
    dataSource,
    `SELECT clock_timestamp() AS now,
            (SELECT json_build_object('id', id, 'cause', cause, 'kind', kind, 'due', due, 'waiting', waiting,
                      'onForMs', extract(epoch FROM clock_timestamp() - engaged_at) * 1000)
               FROM timeout_brakes WHERE ${isOn('$1')} ORDER BY engaged_at LIMIT 1) AS on`,
    [kinds],
  );
  return seen as NonNullable<typeof seen>;
}

/**
 * Nothing where one of these kinds is on already, or tables of an older version have room for none. A jump of the clock
 * takes the place of what may end by itself.
 */
export async function putOn(
  dataSource: DataSource,
  kinds: readonly string[],
  facts: BrakeFacts,
): Promise<Put | undefined> {
  const { cause, kind, due, waiting } = facts;
  const [put] = await inTransaction(dataSource, async (tx) => {
    // In turns: two workers that judge at once, by two kinds, would put on one each, and a person release one.
    await tx.rows('LOCK TABLE timeout_brakes IN SHARE ROW EXCLUSIVE MODE');
    if (cause === CLOCK_JUMPED) await giveUpPlace(tx, kinds);
    return tx.rows<{ id: string }>(
      `INSERT INTO timeout_brakes (cause, kind, due, waiting)
       SELECT $1, $2, $3, $4 WHERE NOT ${areBraked('$5')} ON CONFLICT DO NOTHING RETURNING id`,
      [cause, kind, due, waiting, kinds],
    );
  });
  return put && { ...facts, ...put };
}

/** What is on for another cause might end by itself, and nobody would have looked at the clock. */
async function giveUpPlace(tx: Transaction, kinds: readonly string[]): Promise<void> {
  await tx.rows(
    `UPDATE timeout_brakes
        SET released_at = now(), released_by = $3, release_reason = 'another takes its place: ' || $2
      WHERE ${isOn('$1')} AND cause <> $2`,
    [kinds, CLOCK_JUMPED, BY_ITSELF],
  );
}

/** Releases what is on for this cause, which is over. True where there was one, and on for a minute. */
export async function endOver(
  dataSource: DataSource,
  kinds: readonly string[],
  cause: string,
): Promise<boolean> {
  const ended = await queryRows(
    dataSource,
    `UPDATE timeout_brakes
        SET released_at = now(), released_by = $3, release_reason = 'it is over: ' || cause
      WHERE ${isOn('$1')} AND cause = $2 AND engaged_at <= now() - ${ON_FOR} RETURNING id`,
    [kinds, cause, BY_ITSELF],
  );
  return ended.length > 0;
}
