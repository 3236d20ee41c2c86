import type { Uuids } from '../uuids';
import { type Marks, marksOfNames } from './marks';

/** Keys that are wanted together: a list, or a prefix and many ids that nobody has taken apart yet. */
export class Keys {
  #each: readonly string[] | undefined;

  private constructor(
    readonly count: number,
    private readonly takeApart: () => readonly string[],
    /** What stands for them in a batch behind this tag. */
    readonly marks: (tag: string) => Marks,
  ) {}

  static of(keys: readonly string[]): Keys {
    return new Keys(
      keys.length,
      () => keys,
      (tag) => marksOfNames(namesOf(tag, keys)),
    );
  }

  static prefixed(prefix: string, ids: Uuids): Keys {
    const eachOf = (): string[] => ids.each.map((id) => `${prefix}${id}`);
    return new Keys(ids.count, eachOf, (tag) => {
      const { bytes, count } = ids;
      return bytes ? { ...bytes, count } : marksOfNames(namesOf(tag, eachOf()));
    });
  }

  get each(): readonly string[] {
    return (this.#each ??= this.takeApart());
  }

  /** Their names in Redis. */
  names(tag: string): string[] {
    return namesOf(tag, this.each);
  }
}

const namesOf = (tag: string, keys: readonly string[]): string[] =>
  keys.map((key) => `${tag}:${key}`);
