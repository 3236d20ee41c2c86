/** A number that the benchmark tunes a peer by: `--closers=2` beside its mode. */
export function tuned(name: string, usual: number): number {
  const given = process.argv.find((arg) => arg.startsWith(`--${name}=`));
  return given === undefined ? usual : Number(given.slice(name.length + 3));
}
