// npm run test:openapi: the validators of the standard judge the document that a running API serves,
// and schemathesis whether the API does as it says.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestApp } from '../support/app';
import { runSchemathesis } from './schemathesis';

/** Every one: what is refused then is refused for what was sent. */
const SCOPES = 'orders merchant ops metrics';

const REFEREES: Readonly<Record<string, readonly string[]>> = {
  redocly: ['lint', '--config', join(__dirname, 'redocly.yaml')],
  spectral: ['lint', '--fail-severity=hint', '--ruleset', join(__dirname, 'spectral.yaml')],
};

/** Runs a program with what it prints passed on; its exit code, 1 when it could not be started. */
function run(command: string, args: readonly string[]): number {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { status, error } = spawnSync(command, args, { cwd: __dirname, stdio: 'inherit', env });
  if (error) console.error(`${command} cannot be started: ${error.message}`);
  return status ?? 1;
}

async function main(): Promise<number> {
  if (!existsSync(join(__dirname, 'node_modules'))) {
    console.error('Installing the referees (once)');
    const code = run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
    if (code !== 0) return code;
  }
  const api = await startTestApp({ settings: { ROLES: 'api' } });
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-openapi-'));
  try {
    const file = join(folder, 'openapi.json');
    const { body } = await api.request('GET /docs-json');
    writeFileSync(file, JSON.stringify(body, null, 2));
    const codes = Object.entries(REFEREES).map(([name, args]) => {
      console.log(`--- ${name}`);
      return run(join(__dirname, 'node_modules', '.bin', name), [...args, file]);
    });
    console.log('--- schemathesis');
    codes.push(await runSchemathesis(api.baseUrl, await api.token({ scope: SCOPES })));
    return Math.max(...codes);
  } finally {
    rmSync(folder, { recursive: true });
    await api.close();
  }
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
