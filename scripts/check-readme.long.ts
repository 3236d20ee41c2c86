import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from '../test/support/own-folder';
import { until } from '../test/support/until';

jest.setTimeout(240_000);
/** On a machine that builds something else meanwhile. */
const START_LIMIT_MS = 120_000;

const TMPDIR = ownFolder();

/** Of the product that it has started, once that runs. */
function processes(): number[] {
  const [home] = readdirSync(TMPDIR);
  const runtime = join(TMPDIR, home ?? '', 'runtime.json');
  if (!home || !existsSync(runtime)) return [];
  const noted = readFileSync(join(TMPDIR, home, 'processes.json'), 'utf8');
  return [...noted.matchAll(/"pid":\s*(\d+)/g)].map(([, pid]) => Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it('leaves nothing running and nothing behind when it is interrupted', async () => {
  const script = spawn(process.execPath, [join(__dirname, 'check-readme.mjs')], {
    env: { ...process.env, TMPDIR },
    stdio: 'ignore',
  });
  const ended = once(script, 'exit');
  const pids = await until(
    'it runs',
    () => (processes().length > 0 ? processes() : null),
    START_LIMIT_MS,
  );
  script.kill('SIGTERM');
  await ended;
  expect(pids.filter(isAlive)).toEqual([]);
  expect(readdirSync(TMPDIR)).toEqual([]);
});
