// npm start: everything a fresh clone needs, then the app, the sandbox provider and, unless
// DATABASE_URL and REDIS_URL name others, an embedded Postgres and Redis.
import { launch } from './launcher/launch.mjs';
import { setUp } from './set-up.mjs';

process.exitCode = await launch({
  env: process.env,
  entries: {
    migrate: 'dist/apps/api/src/migrate.js',
    app: 'dist/apps/api/src/main.js',
    sandbox: 'dist/apps/sandbox/src/main.js',
  },
  setUp,
  say: (line) => console.log(line),
});
