import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Runs the real thing in a process with `env`, as the scripts are ES modules. */
function passedOn(env: Record<string, string>): Record<string, string> {
  const module = JSON.stringify(join(__dirname, 'environment.mjs'));
  const program = `import { serverEnvironment } from ${module};
    console.log(JSON.stringify(serverEnvironment()))`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { env });
  return JSON.parse(output.toString()) as Record<string, string>;
}

it('tells the servers we start of no secret, and of no other server', () => {
  const needed = { PATH: process.env['PATH'] ?? '', HOME: '/home/x', LC_ALL: 'C', TZ: 'UTC' };
  const secret = {
    STRIPE_SECRET_KEY: 'sk_live',
    AUTH_JWT_SECRET: 'x',
    PGDATA: '/x',
    NODE_OPTIONS: '',
  };
  expect(passedOn({ ...needed, ...secret })).toEqual(needed);
});

it.each(['postgres.mjs', 'redis.mjs'])('is what %s starts its server with', (file) => {
  const source = readFileSync(join(__dirname, file), 'utf8');
  expect(source).toContain('env: serverEnvironment(),');
});
