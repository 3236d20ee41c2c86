import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type AnswersDocument, compareAnswers } from './compare-answers';
import { FOLDER } from './record-answers';

/** What Jest was asked to run. */
interface RunConfig {
  readonly testPathPatterns: { readonly patterns: readonly string[] };
  readonly testNamePattern?: string;
  readonly shard?: unknown;
  readonly onlyChanged: boolean;
  readonly onlyFailures: boolean;
}

/**
 * Jest's globalTeardown: after all tests, holds what the APIs under test have answered against the
 * document that they serve. What is answered must be documented; what is documented must have been
 * seen. After a part of the tests nothing can be said.
 */
export default function tearDown(run: RunConfig): void {
  const folder = process.env[FOLDER] ?? '';
  try {
    const document = join(folder, 'openapi.json');
    if (isPart(run) || !existsSync(document)) return;
    const lines = readdirSync(folder)
      .filter((name) => name.endsWith('.txt'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'));
    const { undocumented, unproduced } = compareAnswers(
      JSON.parse(readFileSync(document, 'utf8')) as AnswersDocument,
      lines,
    );
    const faults = [
      ...undocumented.map((line) => `answered, and not in the OpenAPI document: ${line}`),
      ...unproduced.map((line) => `in the OpenAPI document, and answered in no test: ${line}`),
    ];
    if (faults.length > 0) throw new Error(`\n${faults.join('\n')}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isPart(run: RunConfig): boolean {
  const { testPathPatterns, testNamePattern, shard, onlyChanged, onlyFailures } = run;
  if (testPathPatterns.patterns.length > 0) return true;
  return Boolean(testNamePattern || shard || onlyChanged || onlyFailures);
}
