/** Options that are all there. */
export type Complete<Options> = {
  [Name in keyof Options]-?: Exclude<Options[Name], undefined>;
};

/** Of an option that is left out, or undefined as what a host reads from its own settings, the default counts. */
export function withDefaults<Options extends object, Defaults extends Partial<Options>>(
  defaults: Defaults,
  given: Options,
): Complete<Options> {
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(said) } as unknown as Complete<Options>;
}
