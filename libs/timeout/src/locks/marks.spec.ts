import { createHash, randomBytes } from 'node:crypto';
import { Uuids } from '../uuids';
import { Keys } from './keys';
import { inOrder, type Marks, marksOfNames, packed, PACKED } from './marks';

const MANY = 8_000;
const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0');
const rest = (seed: number, bytes: number): string =>
  createHash('sha1')
    .update(String(seed))
    .digest('hex')
    .slice(0, 2 * bytes);

const marksOf = (ids: readonly string[]): Marks =>
  Keys.prefixed('lock:order:', Uuids.of(ids)).marks('{lc}');

/** Many ids of one making, as each version of UUIDs has them, by the number of the id. */
const MAKINGS: Readonly<Record<string, (n: number) => string>> = {
  'version 1, of one machine': (n) => `${hex(n * 7, 8)}-4c1e-11f0-9a2b-0242ac120002`,
  'version 6, of one machine': (n) =>
    `1f04c1e0-${hex(n >> 12, 4)}-6${hex(n % 4096, 3)}-9a2b-0242ac120002`,
  'version 4': (n) =>
    `${rest(n, 4)}-${rest(n + 1e6, 2)}-4abc-9${rest(n + 2e6, 2).slice(1)}-${rest(n + 3e6, 6)}`,
  'version 7': (n) => `019aa000-${hex(n >> 3, 4)}-7abc-9${rest(n, 2).slice(1)}-${rest(n + 1e6, 6)}`,
  counted: (n) => `00000000-0000-4000-8000-${hex(n, 12)}`,
};

describe('the marks of a batch', () => {
  it.each(Object.entries(MAKINGS))('are found among few, where its ids are of %s', (_, idOf) => {
    const ids = Array.from({ length: MANY }, (__, n) => idOf(n));
    const pack = packed(marksOf(ids));
    const ends = Array.from({ length: 257 }, (__, sum) => pack.readUInt32BE(4 * sum));
    expect(ends.at(-1)).toBe(PACKED.table + 2 * PACKED.range + MANY * PACKED.mark);
    const inOne = ends.slice(1).map((end, sum) => (end - (ends[sum] as number)) / PACKED.mark);
    // Looked through for each that is sought: evenly spread it is 31.
    expect(Math.max(...inOne)).toBeLessThan(8 * (MANY / 256));
  });

  it('are the same of ids and of names, and stay in their order where that is asked for', () => {
    const ids = Array.from({ length: 50 }, () => randomBytes(16).toString('hex')).map(
      (one) =>
        `${one.slice(0, 8)}-${one.slice(8, 12)}-${one.slice(12, 16)}-${one.slice(16, 20)}-${one.slice(20)}`,
    );
    const [ofIds, ofNames] = [marksOf(ids), marksOfNames(ids.map((id) => `lock:order:${id}`))];
    expect(packed(ofIds)).toEqual(packed(ofNames));
    expect(inOrder(ofIds).toString('hex')).toBe(ids.join('').replaceAll('-', ''));
    const sent = Buffer.concat(
      ids.map((id) => Buffer.from(`00000010${id.replaceAll('-', '')}`, 'hex')),
    );
    const apart = { of: sent, firstAt: 4, stride: 20, count: ids.length };
    expect(inOrder(apart)).toEqual(inOrder(ofIds));
    expect(packed(apart)).toEqual(packed(ofIds));
  });

  it('tell batches apart that were made in one millisecond, by the least and the greatest of each', () => {
    const ids = Array.from(
      { length: 100 },
      (_, n) => `019aa000-0000-7${hex(n, 3)}-9abc-${rest(n, 6)}`,
    );
    const endsOf = (some: readonly string[]): string[] => {
      const ends = packed(marksOf([...some].reverse())).toString('hex', PACKED.table);
      const digits = 2 * PACKED.range;
      return [ends.slice(0, digits), ends.slice(digits, 2 * digits)];
    };
    const ends = [...endsOf(ids.slice(0, 50)), ...endsOf(ids.slice(50))];
    const of = (n: number) => ids[n]?.replaceAll('-', '').slice(0, 2 * PACKED.range);
    expect(ends).toEqual([of(0), of(49), of(50), of(99)]);
    expect(new Set(ends).size).toBe(4);
  });

  it('of what is no UUID are those of its names', () => {
    const teas = Array.from({ length: 40 }, (_, n) => `tea-${n}`);
    const names = marksOfNames(teas.map((tea) => `{lc}:lock:order:${tea}`));
    expect(inOrder(marksOf(teas))).toEqual(inOrder(names));
    expect(
      new Set(teas.map((_, n) => inOrder(names).toString('hex', 16 * n, 16 * n + 16))).size,
    ).toBe(40);
  });
});
