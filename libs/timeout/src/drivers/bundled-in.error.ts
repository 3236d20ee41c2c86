/** A bundler has taken one of our packages into a file of the host's: what it reads beside its code is not there. */
export class BundledInError extends Error {
  readonly code = 'bundled_in';

  /** @param what is not found, and where */
  constructor(name: string, what: string) {
    super(
      `${name} is bundled in: there is no ${what}. Leave it out of the bundle (esbuild: packages: 'external'; webpack: ` +
        "externals, as `nest build --webpack` has them; in a monorepo those of the root's node_modules as well): " +
        'docs/adopting.md, "Bundlers"',
    );
    this.name = 'BundledInError';
  }
}
