import { inTransaction, type Transaction } from '@app/timeout';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ADVISORY_LOCKS, waitingFor } from '../order/advisory-locks';
import { DATABASE } from '../data-source';
import { EVENT_STREAM, type EventStream } from '../events/event-stream';
import { LastcallError } from '../order/errors';
import { type Accountable, recordAction } from '../order/operator-action';
import { isPseudonym } from '../order/subject';
import { uuidv7 } from '../order/uuid';
import { rehearse } from '../order/rehearse';
import { forgetLimitsOf, takeTurnOf } from '../placing/forget-limits';
import { SESSIONS_OF } from '../sessions/page-sessions';
import { FORGET_WORDS_OF_KEYS } from './refund-keys';

export interface ErasedCustomer {
  /** What stands for the customer from now on: the hash of a salt that is forgotten. */
  readonly pseudonym: string;
  readonly orders: number;
  /** Events of the history that named the customer. */
  readonly events: number;
  /** Operators' actions whose reasons were, or may have been, about the customer's orders. */
  readonly actions: number;
  /** Entries taken out of the event stream; 0 in a dry run. */
  readonly streamed: number;
}

export interface EraseCommand extends Accountable {
  readonly dryRun?: boolean;
}

/** The final statuses: nothing of these orders waits for the customer. */
const FINAL = ['closed', 'canceled', 'completed'];

/**
 * Takes a customer's name, and what could tell it, out of everything that is kept (docs/privacy.md).
 * Orders, money and stock stay as they are, under a name that nobody can trace back.
 */
@Injectable()
export class EraseCustomer {
  constructor(
    @Inject(DATABASE) private readonly dataSource: DataSource,
    @Inject(EVENT_STREAM) private readonly stream: EventStream,
  ) {}

  /**
   * @throws {LastcallError} customer_not_found, customer_not_erasable, invalid_request, busy,
   *   stream_elsewhere: the event stream has been given the history, and this process does not know where it is
   */
  async erase(customer: string, command: EraseCommand): Promise<ErasedCustomer> {
    const { dryRun = false, ...accountable } = command;
    // By another one in its place no seal of the history would hold.
    if (isPseudonym(customer)) {
      const message = 'this stands for a customer who has been erased: nothing of them is left';
      throw new LastcallError('invalid_request', message);
    }
    if (isNamedIn(accountable.reason, customer)) {
      throw new LastcallError('invalid_request', 'the reason names the customer: it is kept');
    }
    // Looked at before anything: what the stream has forgotten stays forgotten.
    await inTransaction(this.dataSource, (tx) => expectTurn(tx, customer));
    return rehearse(dryRun, this.dataSource, async (tx) => {
      for (const sql of BEGIN) await tx.rows(sql);
      const orderIds = await finalOrders(tx, customer);
      await this.#expectStream(tx);
      for (const sql of LOCK) await tx.rows(sql, [orderIds]);
      const [history] = await tx.rows<Omit<ErasedCustomer, 'orders' | 'streamed'>>(
        'SELECT * FROM erase_from_history($1)',
        [customer],
      );
      const { pseudonym } = history as NonNullable<typeof history>;
      for (const [sql, values] of ERASE) await tx.rows(sql, values(customer, pseudonym, orderIds));
      await recordAction(tx, 'customer.erase', 'customer', [uuidv7()], accountable);
      // Late, as it is not undone: where it fails nothing is erased, and all can be done again.
      const streamed = dryRun ? 0 : await this.stream.forgetReasons(orderIds);
      // Last: who places an order for the customer meanwhile, with a group of others, waits for this alone.
      await expectTurn(tx, customer);
      // Nobody makes a link from here on, and it sees those that were made meanwhile.
      await tx.rows(NO_MORE_LINKS, [customer]);
      await tx.rows(`DELETE FROM page_sessions WHERE ${SESSIONS_OF}`, [customer]);
      await expectGone(tx, customer);
      const erased = history as NonNullable<typeof history>;
      return { ...erased, orders: orderIds.length, streamed };
    });
  }

  /** What stays in a stream, nobody finds by the customer's name any more. */
  async #expectStream(tx: Transaction): Promise<void> {
    if (this.stream.appendBehind) return;
    const inUse = await tx.rows('SELECT FROM relay_cursor WHERE stream_place IS NOT NULL');
    if (inUse.length === 0) return;
    throw new LastcallError(
      'stream_elsewhere',
      "The event stream in Redis may have operators' reasons about this customer's orders, and is not known here: " +
        'set REDIS_URL as the workers have it; where there is none any more, let a worker run without it first',
    );
  }
}

const BEGIN = [
  // Nothing is relayed meanwhile, which would bring back what is taken out of the stream.
  `SELECT ${waitingFor('relay')}`,
  // The stream is read to its end within the transaction.
  `SET LOCAL idle_in_transaction_session_timeout = '60s'`,
];

/**
 * A provider's answer that is being written down is waited for, and all of it erased; one that comes later
 * waits, and keeps no words then (the trigger `keep_no_words`).
 */
const LOCK = [
  'SELECT FROM payments WHERE order_id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE',
  `SELECT FROM refunds WHERE payment_id IN (SELECT id FROM payments WHERE order_id = ANY ($1::uuid[]))
    ORDER BY id FOR NO KEY UPDATE`,
];

/** Waits for those that are being made, each for moments. */
const NO_MORE_LINKS = `
  SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.links}, k) FROM hashtext($1) AS k`;

type Values = (customer: string, pseudonym: string, orderIds: readonly string[]) => unknown[];

const ERASE: readonly (readonly [sql: string, values: Values])[] = [
  [
    // Money that comes later is nobody's to have an order for: it goes back.
    `UPDATE orders SET customer_id = $2, carrier = NULL, tracking_number = NULL, late_payment = 'refund'
      WHERE customer_id = $1 AND id = ANY ($3::uuid[])`,
    (customer, pseudonym, orderIds) => [customer, pseudonym, orderIds],
  ],
  [
    `UPDATE payments SET request = NULL, checkout_url = NULL, error = NULL, failure = NULL
      WHERE order_id = ANY ($1::uuid[])`,
    (_customer, _pseudonym, orderIds) => [orderIds],
  ],
  [
    `UPDATE refunds SET error = NULL WHERE error IS NOT NULL
        AND payment_id IN (SELECT id FROM payments WHERE order_id = ANY ($1::uuid[]))`,
    (_customer, _pseudonym, orderIds) => [orderIds],
  ],
  [FORGET_WORDS_OF_KEYS, (_customer, _pseudonym, orderIds) => [orderIds]],
  ...['payment_keys', 'extension_keys'].map(
    (table) =>
      [
        `DELETE FROM ${table} WHERE order_id = ANY ($1::uuid[])`,
        (_customer: string, _pseudonym: string, orderIds: readonly string[]) => [orderIds],
      ] as const,
  ),
  ['DELETE FROM idempotency_keys WHERE customer_id = $1', (customer) => [customer]],
  // Whoever waits for one of these is told that its outcome is not known.
  [
    `DELETE FROM errands WHERE EXISTS (
       SELECT FROM (SELECT unnest($1::uuid[]) AS id
                    UNION ALL SELECT id FROM payments WHERE order_id = ANY ($1::uuid[])) AS named
        WHERE concat(args, answer) LIKE '%' || named.id || '%')`,
    (_customer, _pseudonym, orderIds) => [orderIds],
  ],
];

/** Taken for this transaction: no status changes under it. */
async function finalOrders(tx: Transaction, customer: string): Promise<string[]> {
  const orders = await tx.rows<{ id: string; status: string }>(
    'SELECT id, status FROM orders WHERE customer_id = $1 ORDER BY id FOR NO KEY UPDATE',
    [customer],
  );
  if (orders.length === 0) throw customerNotFound();
  const open = orders.filter(({ status }) => !FINAL.includes(status));
  if (open.length > 0) {
    const ids = open.slice(0, 3).map(({ id, status }) => `${id} (${status})`);
    throw new LastcallError(
      'customer_not_erasable',
      `${open.length} of this customer's orders are not over, as ${ids.join(', ')}: end them first`,
      { orders: open.map(({ id }) => id) },
    );
  }
  return orders.map(({ id }) => id);
}

export function customerNotFound(): LastcallError {
  return new LastcallError('customer_not_found', 'There is no order of this customer');
}

/**
 * Whether a text names a customer, as a word of its own: `17` is no part of a number such as `2017` or
 * `2026-17`, nor of a word. Letters count as the same in either case.
 */
function isNamedIn(text: string, customer: string): boolean {
  const name = customer.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return new RegExp(`${BEGINS}${name}${ENDS}`, 'iu').test(text);
}

const LETTER = '[\\p{L}\\p{M}\\p{N}]';
const JOINT = '[-./:]';
/** No word goes on here; nor does a number, which may have joints. */
const BEGINS = `(?!(?<=${LETTER})${LETTER})(?!(?<=\\p{N}${JOINT})\\p{N})`;
const ENDS = `(?!(?<=${LETTER})${LETTER})(?!(?<=\\p{N})${JOINT}\\p{N})`;

/** Who places an order for the customer is not waited for: it may be waiting itself. */
async function expectTurn(tx: Transaction, customer: string): Promise<void> {
  if (!(await takeTurnOf(tx, customer))) throw isOrdering();
}

/** An order that was placed meanwhile is under the name: then nothing is erased yet. */
async function expectGone(tx: Transaction, customer: string): Promise<void> {
  const orders = await tx.rows('SELECT FROM orders WHERE customer_id = $1 LIMIT 1', [customer]);
  const isGone = (await forgetLimitsOf(tx, customer)) && orders.length === 0;
  if (!isGone) throw isOrdering();
}

function isOrdering(): LastcallError {
  return new LastcallError('busy', 'The customer is placing an order; try again in a moment');
}
