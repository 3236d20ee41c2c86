import { z } from 'zod';

/** For hosts whose options no compiler has looked at: JavaScript, and what comes from settings. */

/** What is said of an option whose value is of another kind. */
export const orElse = (words: string): { error: () => string } => ({
  error: () => `must be ${words}`,
});

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** True for what has all of these methods. */
export const hasMethods = (value: unknown, methods: readonly string[]): boolean =>
  isObject(value) && methods.every((name) => typeof value[name] === 'function');

export const having = (methods: readonly string[], words: string): z.ZodType =>
  z.custom((value) => hasMethods(value, methods), orElse(words));

/**
 * Options of a module: `demanded` has to be there, what is undefined counts as not given.
 * @throws {TypeError} naming every option that is wrong, and how it is right
 */
export function assertOptions(
  module: string,
  shape: Readonly<Record<string, z.ZodType>>,
  demanded: readonly string[],
  options: unknown,
): void {
  const given = {
    ...Object.fromEntries(demanded.map((name) => [name, undefined])),
    ...Object.fromEntries(
      Object.entries(isObject(options) ? options : {}).filter(([, one]) => one !== undefined),
    ),
  };
  const known = z.strictObject(
    Object.fromEntries(
      Object.entries(shape).map(([name, kind]) => [
        name,
        demanded.includes(name) ? kind : kind.optional(),
      ]),
    ),
  );
  const { error } = known.safeParse(given);
  if (!error) return;
  const wrong = error.issues.map((issue) => {
    const name = issue.path.join('.');
    if (issue.code !== 'unrecognized_keys') return `\`${name}\` ${issue.message}`;
    const strangers = issue.keys.map((key) => `"${[...issue.path, key].join('.')}"`);
    const names = name === '' ? Object.keys(shape) : namesIn(shape[name]);
    return `there is no option ${strangers.join(', ')}; there are: ${names.join(', ')}`;
  });
  throw new TypeError(`${module}: ${wrong.join('; ')}`);
}

/** Of options within an option. */
function namesIn(kind: unknown): string[] {
  if (kind instanceof z.ZodOptional) return namesIn(kind.unwrap());
  return kind instanceof z.ZodObject ? Object.keys(kind.shape) : [];
}
