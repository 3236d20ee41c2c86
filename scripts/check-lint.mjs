// npm run lint ends with this: what the linter has to refuse is planted, and has to be refused.
import assert from 'node:assert/strict';
import { ESLint, Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { projectFolder } from './services/folders.mjs';

const RULES = ['no-restricted-syntax', 'max-lines'];
const SOURCE = 'apps/api/src/planted.ts';
const TEST = 'test/api/planted.e2e.ts';
const SPEC = 'apps/api/src/planted.spec.ts';
/** @param {number} count */
const linesOfCode = (count) => 'work();\n\n// It has a reason.\n'.repeat(count);

/**
 * Each with what its message has to say.
 * @type {readonly (readonly [file: string, code: string, says: RegExp])[]}
 */
const REFUSED = [
  [SOURCE, `import { UseInterceptors } from '@nestjs/common';`, /interceptor/],
  [SOURCE, `import type { NestInterceptor } from '@nestjs/common';`, /interceptor/],
  [SOURCE, `application.useGlobalInterceptors(timing);`, /interceptor/],
  [SOURCE, `import { APP_INTERCEPTOR } from '@nestjs/core';`, /provider of each request/],
  [SOURCE, `import { REQUEST } from '@nestjs/core';`, /provider of each request/],
  [SOURCE, `const options = { scope: Scope.REQUEST };`, /provider of each request/],
  [SOURCE, `const options = { scope: Scope.TRANSIENT };`, /provider of each request/],
  [TEST, `expect(answer).toMatchObject({ detail: /refused/ });`, /compares nothing/],
  [SOURCE, linesOfCode(251), /too many lines \(251\)/],
];
/** @type {readonly (readonly [file: string, code: string])[]} */
const ALLOWED = [
  [SOURCE, linesOfCode(250)],
  [SPEC, linesOfCode(251)],
  [SOURCE, `import { Injectable, Scope } from '@nestjs/common';`],
  [SOURCE, `const options = { scope: Scope.DEFAULT };`],
  [TEST, `expect(answer).toMatchObject({ detail: expect.stringMatching(/refused/) });`],
];

const eslint = new ESLint({ cwd: projectFolder });

/**
 * What these rules say of `code` in the place of `file`.
 * @param {string} file
 * @param {string} code
 */
async function messages(file, code) {
  const { rules } = await eslint.calculateConfigForFile(file);
  const asked = Object.fromEntries(RULES.map((name) => [name, rules[name] ?? 'off']));
  const config = { languageOptions: { parser: tseslint.parser }, rules: asked };
  return new Linter().verify(code, config).map(({ message }) => message);
}

for (const [file, code, says] of REFUSED) {
  const told = await messages(file, code);
  assert.equal(told.length, 1, `The linter lets this pass in ${file}: ${code}`);
  assert.match(told[0] ?? '', says);
}
for (const [file, code] of ALLOWED) assert.deepEqual(await messages(file, code), []);
