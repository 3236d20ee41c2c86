import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from 'jest';
import { type AnswersDocument, compareAnswers } from './compare-answers';
import { FOLDER } from './record-answers';

interface RunConfig extends Config {
  readonly testPathPatterns: { readonly patterns: readonly string[] };
  readonly testNamePattern?: string;
}

/**
 * Jest's globalTeardown: after all tests, holds what the APIs under test have answered against the
 * document that they serve. What is answered must be documented; what is documented must have been
 * seen. After a part of the tests nothing can be said.
 */
export default function tearDown({ testPathPatterns, testNamePattern }: RunConfig): void {
  const folder = process.env[FOLDER] ?? '';
  try {
    const document = join(folder, 'openapi.json');
    const isPart = testPathPatterns.patterns.length > 0 || Boolean(testNamePattern);
    if (isPart || !existsSync(document)) return;
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
