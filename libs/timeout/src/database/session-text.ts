/** A session of Postgres; of others' an owner that is no superuser may not know all. */
export interface Session {
  readonly pid: number;
  readonly name: string | null;
  readonly since: Date | null;
}

/** Such as `4711 "reports" since 2026-01-01T00:00:00.000Z`. */
export const sessionText = ({ pid, name, since }: Session): string =>
  [
    `${pid}`,
    ...(name ? [`"${name}"`] : []),
    ...(since ? [`since ${since.toISOString()}`] : []),
  ].join(' ');
