/** The source whose build a path in `dist` is. */
export const sourceOf = (built: string): string =>
  built.replace(/^dist\//, '').replace(/\.js$/, '.ts');
