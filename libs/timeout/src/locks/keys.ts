import type { Uuids } from '../uuids';

/** Between names that are one text: no key has it. */
const BETWEEN = '\0';

/** Keys that are wanted together: a list, or a prefix and many ids that nobody has taken apart yet. */
export class Keys {
  #each: readonly string[] | undefined;

  private constructor(
    readonly count: number,
    private readonly takeApart: () => readonly string[],
    /** Their names in Redis as one text, each behind a zero byte but the first. */
    readonly text: (tag: string) => string,
  ) {}

  static of(keys: readonly string[]): Keys {
    return new Keys(
      keys.length,
      () => keys,
      (tag) => keys.map((key) => `${tag}:${key}`).join(BETWEEN),
    );
  }

  static prefixed(prefix: string, ids: Uuids): Keys {
    return new Keys(
      ids.count,
      () => ids.each.map((id) => `${prefix}${id}`),
      (tag) => `${tag}:${prefix}${ids.text.replaceAll(',', `${BETWEEN}${tag}:${prefix}`)}`,
    );
  }

  get each(): readonly string[] {
    return (this.#each ??= this.takeApart());
  }

  /** Their names in Redis. */
  names(tag: string): string[] {
    return this.each.map((key) => `${tag}:${key}`);
  }
}
