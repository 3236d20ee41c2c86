import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const VERSION = '4.32.5';
/** Outside of the project, so that it is installed once for all its checkouts. */
const CACHE = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
const FOLDER = join(CACHE, `lastcall-schemathesis-${VERSION}`);
const PROGRAM = join(FOLDER, 'bin', 'st');

/**
 * What it holds every answer against. Which requests are refused is for our own tests: it counts a
 * header of blanks, which HTTP takes for none, as one that has to be.
 */
const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance'],
  ...['response_schema_conformance', 'response_headers_conformance'],
  // Not unsupported_method: it tries QUERY, which Node 20 takes for no HTTP. test/api/http.e2e.ts has 405.
  'ignored_auth',
];
/** Says nothing until something happens. */
const STREAM = 'followOrderEvents';
/** The same requests each time: a failure can be looked at again. */
const SEED = '20260131';

/** Sends what the document allows and what it forbids to a running API; its exit code. */
export async function runSchemathesis(apiUrl: string, token: string): Promise<number> {
  const missing = install();
  if (missing !== undefined) {
    console.log(`schemathesis: NOT RUN, ${missing}`);
    return 0;
  }
  const args = ['run', `${apiUrl}/docs-json`, '--url', apiUrl, '--no-color', '--seed', SEED];
  const program = spawn(
    PROGRAM,
    [
      ...args,
      ...['--header', `Authorization: Bearer ${token}`, '--checks', CHECKS.join(',')],
      ...['--exclude-operation-id', STREAM, '--max-examples', '20', '--request-timeout', '20'],
      ...['--phases', 'examples,coverage,fuzzing', '--generation-database', 'none'],
      ...['--workers', '1', '--continue-on-failure', '--warnings', 'off'],
    ],
    // It keeps what it found beside it, in a folder of its own.
    { stdio: 'inherit', cwd: FOLDER },
  );
  return new Promise((resolve) => {
    program.on('error', () => resolve(1)).on('exit', (code) => resolve(code ?? 1));
  });
}

/** Why it cannot be had here; undefined once it is there. */
function install(): string | undefined {
  if (existsSync(PROGRAM)) return undefined;
  const run = (command: string, args: readonly string[]): boolean =>
    spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
  if (spawnSync('python3', ['-m', 'venv', '--help']).status !== 0) {
    return 'as it wants a python3 with venv, which is not here';
  }
  console.log('Installing schemathesis (once)');
  const isThere =
    run('python3', ['-m', 'venv', FOLDER]) &&
    run(join(FOLDER, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
  return isThere ? undefined : 'as pip could not install it';
}
