import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The tables whose rows nobody may rewrite, each with a chain of its own. */
export const HISTORIES = ['order_events', 'operator_actions'] as const;
export type History = (typeof HISTORIES)[number];

/** What a seal covers: the rows of transactions `fromTx` up to, and without, `untilTx`. */
export interface Sealed {
  readonly rows: number;
  readonly lastId: string;
  readonly firstAt: Date | null;
  readonly lastAt: Date | null;
  /** SHA-256 of the rows, as {@link CONTENT} writes them, in hexadecimal. */
  readonly content: string;
}

/** One link of a chain: it names the one before, so that none can be exchanged or left out. */
export interface Seal extends Sealed {
  readonly history: History;
  readonly number: number;
  readonly fromTx: string;
  readonly untilTx: string;
  readonly sealedAt: Date;
  /** The digest of the seal before; empty for the first. */
  readonly previous: string;
  readonly digest: string;
  /** HMAC of the digest by the key that the database does not know; null where there was none. */
  readonly signature: string | null;
}

/** Injection token: HISTORY_SEAL_KEY, or null. */
export const SEAL_KEY = Symbol('LastcallSealKey');

export function digestOf(seal: Omit<Seal, 'digest' | 'signature'>): string {
  const { history, number, fromTx, untilTx, rows, lastId, content, previous } = seal;
  const instants = [seal.firstAt, seal.lastAt, seal.sealedAt].map((at) => at?.getTime() ?? null);
  const facts = [history, number, fromTx, untilTx, rows, lastId, ...instants, content, previous];
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

export function signatureOf(key: string, digest: string): string {
  return createHmac('sha256', key).update(`lastcall history seal ${digest}`).digest('hex');
}

export function isSignedWith(key: string, { digest, signature }: Seal): boolean {
  const expected = Buffer.from(signatureOf(key, digest));
  const given = Buffer.from(signature ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** What stands in the history for a text that was, or may be, erased: nothing without its salt. */
const PSEUDONYM = (text: string, salt: string): string =>
  `'erased:' || left(encode(sha256(convert_to(${salt} || ' ' || ${text}, 'UTF8')), 'hex'), 32)`;

/** Texts about persons are sealed as what they become when they are erased. */
const ERASABLE = (text: string, salt: string): string =>
  `CASE WHEN ${salt}.salt IS NULL THEN ${text} ELSE ${PSEUDONYM(text, `${salt}.salt`)} END`;

const MS = (at: string): string => `round(date_part('epoch', ${at}) * 1000)::bigint`;

/** Where a text's salt is found; the same in `erase_from_history` (migrations). */
const SALT_OF = {
  customer: (name: string): string => `'customer ' || ${name}`,
  event: `'event ' || e.order_id || '/' || e.version`,
  action: `'action ' || a.id`,
} as const;

/** Rows of a window by their transactions, each as a line of JSON. The number `tx` is no part of it. */
const LINES: Readonly<Record<History, string>> = {
  order_events: `
    SELECT e.id, e.at, json_build_array(e.id, e.order_id, e.version, e.type, e.from_status,
             e.to_status, e.by, ${ERASABLE('e.actor', 'c')}, ${ERASABLE('e.reason', 'r')},
             ${MS('e.at')})::text AS line
      FROM order_events e
      LEFT JOIN history_salts c ON e.by = 'customer' AND c.of = ${SALT_OF.customer('e.actor')}
      LEFT JOIN history_salts r ON e.by = 'operator' AND r.of = ${SALT_OF.event}
     WHERE e.tx >= $1::text::xid8 AND e.tx < $2::text::xid8`,
  operator_actions: `
    SELECT a.id, a.at, json_build_array(a.id, a.actor, a.action, a.subject_kind, a.subject_id,
             ${ERASABLE('a.reason', 'r')}, ${MS('a.at')})::text AS line
      FROM operator_actions a LEFT JOIN history_salts r ON r.of = ${SALT_OF.action}
     WHERE a.tx >= $1::text::xid8 AND a.tx < $2::text::xid8`,
};

/** Reads one window ($1 up to $2) as {@link Sealed}. */
export const CONTENT = (history: History): string => `
  SELECT count(*)::int AS rows, coalesce(max(id), 0)::text AS "lastId", min(at) AS "firstAt",
         max(at) AS "lastAt",
         encode(sha256(convert_to(coalesce(string_agg(line, E'\\n' ORDER BY id), ''), 'UTF8')),
                'hex') AS content
    FROM (${LINES[history]}) AS lines`;

/** Salts for what a window ($1 up to $2) has of persons and is new. */
export const NEW_SALTS: Readonly<Record<History, readonly string[]>> = {
  order_events: [
    `INSERT INTO history_salts (of)
     SELECT DISTINCT ${SALT_OF.customer('e.actor')} FROM order_events e
      WHERE e.tx >= $1::text::xid8 AND e.tx < $2::text::xid8 AND e.by = 'customer'
        AND e.actor NOT LIKE 'erased:%' ON CONFLICT DO NOTHING`,
    `INSERT INTO history_salts (of)
     SELECT ${SALT_OF.event} FROM order_events e
      WHERE e.tx >= $1::text::xid8 AND e.tx < $2::text::xid8 AND e.by = 'operator'
        AND e.reason NOT LIKE 'erased:%' ON CONFLICT DO NOTHING`,
  ],
  operator_actions: [
    `INSERT INTO history_salts (of)
     SELECT ${SALT_OF.action} FROM operator_actions a
      WHERE a.tx >= $1::text::xid8 AND a.tx < $2::text::xid8
        AND a.reason NOT LIKE 'erased:%' ON CONFLICT DO NOTHING`,
  ],
};

export const SEAL_COLUMNS = `history, number::int AS number, from_tx::text AS "fromTx",
  until_tx::text AS "untilTx", rows, last_id::text AS "lastId", first_at AS "firstAt",
  last_at AS "lastAt", content, sealed_at AS "sealedAt", previous, digest, signature`;
