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
/**
 * Those of UUIDs that were made together are close to each other: so much of a mark tells how close. Of version 7
 * it is the millisecond and what tells those of one millisecond apart.
 */
const RANGE = 12;
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
export function packed(marks: Marks): Buffer {
  const { of, firstAt, stride, count } = marks;
  const sums = sumsOf(marks);
  const next = new Uint32Array(257);
  for (const sum of sums) next[sum + 1]! += MARK;
  const pack = Buffer.allocUnsafe(FIRST + count * MARK);
  for (let sum = 0, begin = FIRST; sum <= 256; sum++) {
    begin = next[sum] = begin + (next[sum] as number);
    pack.writeUInt32BE(begin, 4 * sum);
  }
  const [least, greatest] = endsOf(marks);
  of.copy(pack, TABLE, least, least + RANGE);
  of.copy(pack, TABLE + RANGE, greatest, greatest + RANGE);
  for (let nth = 0, at = firstAt; nth < count; nth++, at += stride) {
    const sum = sums[nth] as number;
    copyMark(of, at, pack, next[sum] as number);
    next[sum]! += MARK;
  }
  return pack;
}

/** Small functions, each with a loop over bytes: what is compiled amid a burst is compiled beside it. */
function sumsOf({ of, firstAt, stride, count }: Marks): Uint8Array {
  const sums = new Uint8Array(count);
  for (let nth = 0; nth < count; nth++) sums[nth] = sumAt(of, firstAt + nth * stride);
  return sums;
}

function sumAt(of: Uint8Array, at: number): number {
  let sum = 0;
  for (let one = at; one < at + MARK; one++) sum += of[one] as number;
  return sum;
}

function copyMark(of: Uint8Array, at: number, to: Uint8Array, toAt: number): void {
  for (let one = 0; one < MARK; one++) to[toAt + one] = of[at + one] as number;
}

/** Where the least and the greatest begin. */
function endsOf({ of, firstAt, stride, count }: Marks): [least: number, greatest: number] {
  let [least, greatest] = [firstAt, firstAt];
  for (let nth = 1, at = firstAt + stride; nth < count; nth++, at += stride) {
    if (isLess(of, at, least)) least = at;
    else if (isLess(of, greatest, at)) greatest = at;
  }
  return [least, greatest];
}

function isLess(of: Uint8Array, one: number, other: number): boolean {
  for (let byte = 0; byte < RANGE; byte++) {
    const difference = (of[one + byte] as number) - (of[other + byte] as number);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
