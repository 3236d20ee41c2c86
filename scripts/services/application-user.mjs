// The user that the application connects as: no superuser, so that SQL of its cannot run programs or
// read files, and a member of the role that cannot rewrite history (docs/threat-model.md).

const ROLE = 'lastcall_app';
const USER = 'lastcall_user';

/**
 * Makes the role and the user, or gives the user this password; safe to repeat.
 * @param {string} ownerUrl
 * @param {string} password
 * @returns {Promise<string>} the address of the same database, for that user
 */
export async function createApplicationUser(ownerUrl, password) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    for (const [name, kind] of [
      [ROLE, 'NOLOGIN'],
      [USER, 'LOGIN'],
    ]) {
      const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [name]);
      if (rowCount === 0) await client.query(`CREATE ROLE ${name} ${kind}`);
    }
    await client.query(
      `ALTER ROLE ${USER} NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD ${client.escapeLiteral(password)}`,
    );
    await client.query(`GRANT ${ROLE} TO ${USER}`);
  } finally {
    await client.end();
  }
  const url = new URL(ownerUrl);
  [url.username, url.password] = [USER, encodeURIComponent(password)];
  return url.href;
}
