import { hash } from 'node:crypto';
import type { Transaction } from '@app/timeout';
import { LastcallError } from '../order/errors';
import type { ReturnedLine } from '../stock/restock';

/** What an operator asks for, and by which key, if any. */
export interface KeyedRefund {
  readonly amount: number;
  readonly reason: string;
  readonly restock?: readonly ReturnedLine[] | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Of a request whose customer was erased since: nobody knows any more what it said. */
const FORGOTTEN = '';

/**
 * SQL: takes the words out of the keys of these orders (`$1::uuid[]`). What they stand for stays as long as ever:
 * a script that has heard no answer and sends its refund again would send the money twice.
 */
export const FORGET_WORDS_OF_KEYS = `
  UPDATE refund_keys
     SET key = encode(sha256(convert_to(concat(order_id, ' ', key), 'UTF8')), 'hex'), body_hash = '${FORGOTTEN}'
   WHERE order_id = ANY ($1::uuid[]) AND body_hash <> '${FORGOTTEN}'`;

/** What {@link FORGET_WORDS_OF_KEYS} makes of a key. */
const withoutWords = (orderId: string, key: string): string => hash('sha256', `${orderId} ${key}`);

/**
 * The refunds that this key has requested before.
 * @throws {LastcallError} idempotency_key_reused for another request than this one
 */
export async function findByKey(
  tx: Transaction,
  orderId: string,
  command: KeyedRefund,
): Promise<string[] | undefined> {
  const { idempotencyKey: key } = command;
  if (key === undefined) return undefined;
  const [known] = await tx.rows<{ body_hash: string; refund_ids: string[] }>(
    `SELECT body_hash, refund_ids FROM refund_keys
      WHERE order_id = $1 AND (key = $2 OR key = $3 AND body_hash = '${FORGOTTEN}')`,
    [orderId, key, withoutWords(orderId, key)],
  );
  if (known && ![FORGOTTEN, hashOf(command)].includes(known.body_hash)) {
    const message =
      'This Idempotency-Key has requested another refund; use a new key for a new one';
    throw new LastcallError('idempotency_key_reused', message);
  }
  return known?.refund_ids;
}

export async function rememberKey(
  tx: Transaction,
  orderId: string,
  command: KeyedRefund,
  refundIds: readonly string[],
): Promise<void> {
  if (command.idempotencyKey === undefined) return;
  await tx.rows(
    'INSERT INTO refund_keys (order_id, key, body_hash, refund_ids) VALUES ($1, $2, $3, $4)',
    [orderId, command.idempotencyKey, hashOf(command), refundIds],
  );
}

const hashOf = ({ amount, reason, restock: returned = [] }: KeyedRefund): string =>
  hash('sha256', JSON.stringify([amount, reason, returned]), 'base64');
