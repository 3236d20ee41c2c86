/**
 * UUIDs as one text, as Postgres writes down many of them: taken apart only where somebody looks at
 * each, which costs more than anything else that is done with the ids of a large batch.
 */
export class Uuids {
  #each: readonly string[] | undefined;

  private constructor(
    /** By commas. */
    readonly text: string,
    readonly count: number,
  ) {}

  static of(ids: readonly string[]): Uuids {
    const uuids = new Uuids(ids.join(','), ids.length);
    uuids.#each = ids;
    return uuids;
  }

  /** What `string_agg(id::text, ',')` has answered. */
  static aggregated(text: string | null, count: number): Uuids {
    return new Uuids(text ?? '', count);
  }

  get each(): readonly string[] {
    return (this.#each ??= this.count === 0 ? [] : this.text.split(','));
  }

  /**
   * As a value for a `uuid[]` parameter: the driver would look at each for characters to escape.
   * Postgres refuses what is no UUID.
   */
  get array(): string {
    return `{${this.text}}`;
  }
}
