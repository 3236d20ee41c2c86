import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JWT_SECRET, WEBHOOK_SECRET } from './app';

const ROOT = join(__dirname, '..', '..');

/** The API as it is started for real: `node dist/apps/api/src/main.js`. */
export interface ApiProcess {
  readonly child: ChildProcess;
  /** Resolves with its address when it listens; rejects when it ends before. */
  readonly listening: Promise<string>;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** Kills it if it still runs. */
  stop(): Promise<void>;
}

export function startApiProcess(
  settings: Readonly<Record<string, string>>,
  script = 'main',
  folder = ROOT,
): ApiProcess {
  const child = spawn(process.execPath, [join(ROOT, `dist/apps/api/src/${script}.js`)], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      LASTCALL_HOME: join(tmpdir(), 'lastcall-tests-have-no-home'),
      AUTH_JWT_SECRET: JWT_SECRET,
      SANDBOX_WEBHOOK_SECRET: WEBHOOK_SECRET,
      SANDBOX_URL: 'http://127.0.0.1:1',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...said }));
  const listening = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said.stdout += chunk.toString();
      const url = /"url":"(http:[^"]+)"/.exec(said.stdout)?.[1];
      if (url) resolve(url);
    });
    void ended.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });
  // Whoever waits for the end only is not interested in this one.
  listening.catch(() => undefined);
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  };
  return { child, listening, ended, stop };
}
