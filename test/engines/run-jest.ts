import { spawn } from 'node:child_process';
import { once } from 'node:events';

const JEST = 'node_modules/jest/bin/jest.js';

/** Runs the `*.engine.ts` files of these patterns. Resolves with their count, rejects with their report. */
export function runJest(patterns: readonly string[]): Promise<string> {
  return judgeByJest(['--config', 'jest.engines.config.js', '--runInBand', ...patterns]);
}

/** The same of any tests, by the arguments of Jest, with more in their environment. */
export async function judgeByJest(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = spawn(process.execPath, [JEST, ...args], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { ...process.env, ...env },
  });
  let report = '';
  child.stderr.on('data', (chunk: Buffer) => (report += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(report);
  return /^Tests:\s+(.*)$/m.exec(report)?.[1] ?? 'nothing was reported';
}
