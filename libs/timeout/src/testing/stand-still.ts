import { spawnSync } from 'node:child_process';
import type { DataSource } from 'typeorm';

const WAIT = `
  const { Client } = require('pg');
  (async () => {
    const [, url, pid, ends] = process.argv;
    const client = new Client({ connectionString: url });
    await client.connect();
    if (ends) await client.query('SELECT pg_terminate_backend($1)', [pid]);
    const alive = 'SELECT FROM pg_stat_activity WHERE pid = $1';
    while ((await client.query(alive, [pid])).rowCount > 0);
    await client.end();
  })();`;

/**
 * This process does nothing, and reads nothing, until this session of Postgres is gone, as it is soon
 * where it may not stand still, or where somebody is to `end it`.
 */
export function standStillUntilGone(
  { options }: DataSource,
  pid: number,
  how: 'end it' | 'wait' = 'wait',
): void {
  const { url = '' } = options as { readonly url?: string };
  const args = ['-e', WAIT, url, `${pid}`, how === 'end it' ? 'ends' : ''];
  const { status, stderr } = spawnSync(process.execPath, args);
  if (status !== 0) throw new Error(String(stderr));
}
