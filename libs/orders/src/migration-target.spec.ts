import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMigrationTarget } from './config';

it('goes by what npm start has written, where the environment names no database', () => {
  const home = mkdtempSync(join(tmpdir(), 'lastcall-config-'));
  const written = { DATABASE_URL: 'postgres://127.0.0.1/shop', REDIS_URL: 'redis://127.0.0.1' };
  writeFileSync(join(home, 'runtime.json'), JSON.stringify(written), { mode: 0o600 });
  try {
    expect(loadMigrationTarget({ LASTCALL_HOME: home })).toMatchObject({
      DATABASE_URL: written.DATABASE_URL,
      DATABASE_SCHEMA: 'lastcall',
      DATABASE_ROLE: 'off',
    });
  } finally {
    rmSync(home, { recursive: true });
  }
});
