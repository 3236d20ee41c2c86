/** A foreign program that judges what we do by what its makers say. */
export interface Engine {
  readonly name: string;
  /** What goes unchecked without it. */
  readonly judges: string;
  /** What is missing here, in words that tell how to get it; undefined when it can run. */
  missing(): string | undefined;
  /** Rejects with what it found wrong. Resolves with what it has seen, for the report. */
  judge(): Promise<string>;
}
