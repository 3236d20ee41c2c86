export const MUTATIONS: readonly {
  readonly name: string;
  readonly what: string;
  readonly edits: readonly {
    readonly file: string;
    readonly find: string;
    readonly replace: string;
  }[];
}[];
