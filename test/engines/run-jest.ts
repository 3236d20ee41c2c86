import { spawn } from 'node:child_process';
import { once } from 'node:events';

const JEST = 'node_modules/jest/bin/jest.js';

/** Runs the `*.engine.ts` files of these patterns. Resolves with their count, rejects with their report. */
export async function runJest(patterns: readonly string[]): Promise<string> {
  const args = [JEST, '--config', 'jest.engines.config.js', '--runInBand', ...patterns];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe'] });
  let report = '';
  child.stderr.on('data', (chunk: Buffer) => (report += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(report);
  return /^Tests:\s+(.*)$/m.exec(report)?.[1] ?? 'nothing was reported';
}
