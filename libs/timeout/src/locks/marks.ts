import { createHash } from 'node:crypto';
import type { Bytes } from '../uuids';

/**
 * What stands for a key in a batch: the UUID at its end, or what its name hashes to. Two keys that end
 * in the same UUID are one to a batch, which may keep somebody waiting and lets nobody in.
 */
const MARK = 16;
const UUID_AT_END = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A place for each value of what a mark's bytes add up to, and one for the end: offsets from the beginning. */
const TABLE = 257 * 4;
/** Those of UUIDs that were made together are close to each other: so much of a mark tells how close. */
const RANGE = 6;
const FIRST = TABLE + 2 * RANGE;

/** The layout of {@link packed}, for who reads it in Redis: bytes, but the last. */
export const PACKED = { table: TABLE, range: RANGE, mark: MARK } as const;

/** So many marks, as they stand in a store. */
export interface Marks extends Bytes {
  readonly count: number;
}

/** One after the other, as {@link Marks} are read in order. */
export function inOrder({ of, firstAt, stride, count }: Marks): Buffer {
  if (stride === MARK) return of.subarray(firstAt, firstAt + count * MARK);
  const row = Buffer.allocUnsafe(count * MARK);
  for (let nth = 0; nth < count; nth++) {
    of.copy(row, nth * MARK, firstAt + nth * stride, firstAt + nth * stride + MARK);
  }
  return row;
}

/** `names`: of keys as they are in the store. */
export function marksOfNames(names: readonly string[]): Marks {
  return { of: Buffer.concat(names.map(markOf)), firstAt: 0, stride: MARK, count: names.length };
}

function markOf(name: string): Buffer {
  const uuid = UUID_AT_END.exec(name)?.[0];
  return uuid === undefined
    ? createHash('sha1').update(name).digest().subarray(0, MARK)
    : Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

/**
 * Marks so that one is found without reading them all: a table of where those begin whose bytes add up
 * to each value (mod 256), the least and the greatest by their first bytes, and the marks, by their sums. All
 * bytes, as in each version of UUIDs others are the same. It is read by redlock-scripts.ts, and costs
 * nothing to write, to keep and to free beside a set.
 */
export function packed({ of, firstAt, stride, count }: Marks): Buffer {
  const next = new Uint32Array(257);
  const sums = new Uint8Array(count);
  let [least, greatest] = [Infinity, -Infinity];
  for (let nth = 0, at = firstAt; nth < count; nth++, at += stride) {
    for (let one = 0; one < MARK; one++) sums[nth]! += of[at + one] as number;
    next[(sums[nth] as number) + 1]! += MARK;
    const first = of.readUIntBE(at, RANGE);
    if (first < least) least = first;
    if (first > greatest) greatest = first;
  }
  const pack = Buffer.allocUnsafe(FIRST + count * MARK);
  for (let sum = 0, begin = FIRST; sum <= 256; sum++) {
    begin = next[sum] = begin + (next[sum] as number);
    pack.writeUInt32BE(begin, 4 * sum);
  }
  pack.writeUIntBE(least, TABLE, RANGE);
  pack.writeUIntBE(greatest, TABLE + RANGE, RANGE);
  for (let nth = 0, at = firstAt; nth < count; nth++, at += stride) {
    const sum = sums[nth] as number;
    const to = next[sum] as number;
    next[sum] = to + MARK;
    for (let one = 0; one < MARK; one++) pack[to + one] = of[at + one] as number;
  }
  return pack;
}
