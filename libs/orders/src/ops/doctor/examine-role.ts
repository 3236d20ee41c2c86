import { queryRows } from '@app/timeout';
import type { DataSource } from 'typeorm';
import { type Check, ok, warning } from './check';

/** Who is connected, and a user for the application that the server does not have yet. */
const ROLE = `
  SELECT current_user AS name,
         has_table_privilege(to_regclass('order_events'), 'UPDATE, DELETE') AS rewrites,
         (SELECT format('%I', free)
            FROM generate_series(1, 100) AS n,
                 concat(left(current_user, 50), '_app', nullif(n, 1)) AS free
           WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = free)
           ORDER BY n LIMIT 1) AS "userName"`;

interface Role {
  readonly name: string;
  /** Null: there is no history. */
  readonly rewrites: boolean | null;
  readonly userName: string;
}

/** The threat model wants history that the application cannot rewrite. */
export async function examineRole(dataSource: DataSource): Promise<Check[]> {
  const [role] = await queryRows<Role>(dataSource, ROLE);
  if (!role || role.rewrites === null) return [];
  const { name, userName } = role;
  if (!role.rewrites) return [ok('postgres', 'role', `${name} cannot rewrite history`)];
  const fix =
    `migrate as ${name} with DATABASE_ROLE=lastcall_app (a host: migrate(hostOptionsAsConfig(options)) ` +
    `with settings: { DATABASE_ROLE: 'lastcall_app' }); CREATE ROLE ${userName} LOGIN PASSWORD '...' ` +
    `IN ROLE lastcall_app; then ${userName} in the address of all processes and commands (DATABASE_URL, a ` +
    `host's postgres), while ${name} goes on migrating: docs/threat-model.md, "The database's two roles"`;
  return [warning('postgres', 'role', `${name} can rewrite history`, fix)];
}
