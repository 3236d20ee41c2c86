/** The least UUID there is (RFC 9562, 5.9). */
export const NIL = '00000000-0000-0000-0000-000000000000';

/** 16 for each: from `firstAt` on, each `stride` bytes behind the one before. */
export interface Bytes {
  readonly of: Buffer;
  readonly firstAt: number;
  readonly stride: number;
}

/**
 * UUIDs as Postgres sends and takes an array of many in its binary form (`array_send` and `array_recv` in
 * its arrayfuncs.c): a head, then each of them behind its length. Taken apart only where somebody looks at
 * each, which costs more than anything else that is done with the ids of a large batch.
 */
export class Uuids {
  #each: readonly string[] | undefined;
  readonly #sent: Buffer | undefined;
  #packed: Bytes | undefined;

  private constructor(
    readonly count: number,
    known: { readonly each?: readonly string[]; readonly sent?: Buffer },
  ) {
    this.#each = known.each;
    this.#sent = known.sent;
  }

  static of(ids: readonly string[]): Uuids {
    return new Uuids(ids.length, { each: ids });
  }

  /** What `array_send(array_agg(id))` has answered; null: there were none. */
  static sent(sent: Buffer | null): Uuids {
    return sent ? new Uuids(sent.readInt32BE(COUNT_AT), { sent }) : Uuids.of([]);
  }

  get each(): readonly string[] {
    return (this.#each ??= takenApart(this.#sent as Buffer, this.count));
  }

  /** As a value for a `uuid[]` parameter. Postgres refuses what is no UUID. */
  get array(): string | Buffer {
    return this.#sent ?? `{${this.each.join(',')}}`;
  }

  /** Undefined where one of them is no UUID. */
  get bytes(): Bytes | undefined {
    if (this.#sent) return { of: this.#sent, firstAt: HEAD + LENGTH, stride: STRIDE };
    return (this.#packed ??= bytesOf(this.each));
  }
}

const IS_UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** One dimension, no NULLs, of UUIDs, how many, the first of them is number 1: 32 bits each. */
const HEAD = 20;
const COUNT_AT = 12;
/** What stands before each. */
const LENGTH = 4;
const UUID = 16;
const STRIDE = LENGTH + UUID;

function takenApart(sent: Buffer, count: number): string[] {
  const hex = sent.toString('hex', HEAD);
  return Array.from({ length: count }, (_, index) => {
    const at = 2 * (index * STRIDE + LENGTH);
    const part = (from: number, to: number): string => hex.slice(at + from, at + to);
    return `${part(0, 8)}-${part(8, 12)}-${part(12, 16)}-${part(16, 20)}-${part(20, 32)}`;
  });
}

function bytesOf(ids: readonly string[]): Bytes | undefined {
  if (!ids.every((id) => IS_UUID.test(id))) return undefined;
  const of = Buffer.from(ids.join('').replaceAll('-', ''), 'hex');
  return { of, firstAt: 0, stride: UUID };
}
