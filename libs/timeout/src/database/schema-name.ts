/** Postgres cuts longer ones. */
const MAX_LENGTH = 63;

/** Why no tables of ours can be in a schema of that name; it begins with "must". Undefined where they can. */
export function complaintAboutSchema(name: string): string | undefined {
  if (name.length > MAX_LENGTH) return `must have ${MAX_LENGTH} characters at the most`;
  if (!/^[a-z_][a-z0-9_]*$/.test(name)) {
    return 'must be a name of small letters, digits and _';
  }
  const isPostgres = name.startsWith('pg_') || name === 'information_schema';
  return isPostgres ? "must be none of Postgres' own (pg_..., information_schema)" : undefined;
}
