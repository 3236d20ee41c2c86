import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowed } from '../support/slowness';
import type { Exploration } from './exploration';

export const SEEDS = [1, 2, 3];
/** The sources as they are. */
export const NO_BUG = '';
const ROOT = join(__dirname, '..', '..');
/** A test takes seconds; with a bug in what it tests it may never end. */
const LIMIT_MS = 60_000;
const TEST_LIMIT_MS = 10_000;
const JEST = join('node_modules', 'jest', 'bin', 'jest.js');
const JEST_CONFIG = join('test', 'explorer', 'jest.mutations.config.js');

/** What this file uses of Jest's report. */
interface JestReport {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Explores with a seeded bug, in a process of its own: it is planted while sources are loaded. */
export async function explore(
  mutation: string,
  seed: number,
  runs: readonly string[],
): Promise<Exploration> {
  const main = ['-r', join(__dirname, 'register.cjs'), join(__dirname, 'main.ts')];
  const how = ['--seed', String(seed), '--stop-at-first', '--json', '--runs', ...runs];
  const { output, code } = await runNode(mutation, ['--no-warnings', ...main, ...how], 'inherit');
  const line = output.trim().split('\n').at(-1) ?? '';
  if (line.startsWith('{')) return JSON.parse(line) as Exploration;
  throw new Error(`The exploration with "${mutation}" ended with ${code}`);
}

/** The first test of `spec` that fails with a seeded bug, or that none ends; undefined when all hold. */
export async function failedTest(mutation: string, spec: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-mutations-'));
  const results = join(folder, 'results.json');
  const limitMs = allowed(LIMIT_MS);
  try {
    const how = ['--config', JEST_CONFIG, '--silent', '--json', '--outputFile', results];
    const limits = ['--testTimeout', String(allowed(TEST_LIMIT_MS)), '--forceExit'];
    // What Jest tells people goes there.
    const { code } = await runNode(mutation, [JEST, ...how, ...limits, spec], 'ignore', limitMs);
    if (code === null) return `none of its tests ended within ${limitMs / 1_000} s`;
    const [file] = (JSON.parse(readFileSync(results, 'utf8')) as JestReport).testResults;
    // A file that cannot even be loaded finds nothing.
    if (!file || file.assertionResults.length === 0) {
      throw new Error(`${spec} did not run with "${mutation}": ${file?.message ?? 'not found'}`);
    }
    return file.assertionResults.find(({ status }) => status === 'failed')?.fullName;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runNode(
  mutation: string,
  args: readonly string[],
  stderr: 'inherit' | 'ignore',
  limitMs?: number,
): Promise<{ readonly output: string; readonly code: number | null }> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, RACES_MUTATION: mutation },
    stdio: ['ignore', 'pipe', stderr],
    ...(limitMs === undefined ? {} : { timeout: limitMs, killSignal: 'SIGKILL' as const }),
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve({ output, code }));
  });
}
