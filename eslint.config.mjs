// What the compiler does not see and Prettier does not mend: mistakes, not style.
import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Event listeners may be async as long as they handle what goes wrong themselves. */
const ASYNC_LISTENERS = { checksVoidReturn: { arguments: false, attributes: false } };

const EACH_REQUEST = 'costs each request more than all of Nest does (docs/architecture.md)';
/**
 * Nest itself costs about 17 us a request; any interceptor 36 us more, even one of another route's
 * module; and a provider that is made anew for each request, with all that depend on it, 100 us.
 */
const NOTHING_FOR_EACH_REQUEST = [
  {
    selector: 'ImportSpecifier[imported.name=/^(UseInterceptors|NestInterceptor)$/]',
    message: `An interceptor ${EACH_REQUEST}: use a hook of Fastify's, or the handler itself.`,
  },
  {
    selector: 'ImportSpecifier[imported.name=/^(APP_INTERCEPTOR|REQUEST|INQUIRER)$/]',
    message: `A provider of each request ${EACH_REQUEST}: pass what it needs as an argument.`,
  },
  {
    selector: 'MemberExpression[property.name="useGlobalInterceptors"]',
    message: `An interceptor ${EACH_REQUEST}: use a hook of Fastify's, or the handler itself.`,
  },
  {
    selector: 'MemberExpression[object.name="Scope"][property.name=/^(REQUEST|TRANSIENT)$/]',
    message: `A provider of each request ${EACH_REQUEST}: pass what it needs as an argument.`,
  },
];

export default defineConfig(
  {
    ignores: [
      ...['**/node_modules/', 'dist/', 'libs/client/dist/', 'dist.*/', 'coverage/', '.lastcall*/'],
      // Of shops that have the packages installed: compiled there, by npm run test:packages.
      ...['test/packages/shop/', 'test/packages/snippets/', 'examples/'],
    ],
  },
  eslint.configs.recommended,
  {
    files: ['**/*.{ts,tsx}', '**/*.mts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-misused-promises': ['error', ASYNC_LISTENERS],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-deprecated': 'warn',
      // A port's implementation may have nothing to wait for.
      '@typescript-eslint/require-await': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-syntax': ['error', ...NOTHING_FOR_EACH_REQUEST],
    },
  },
  {
    // Tests look into answers whose type says nothing: what they are is what the test asserts.
    files: ['**/*.spec.ts', '**/*.long.ts', '**/*.engine.ts', 'test/**/*.ts', '**/testing/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
      // `expect(service.method)` does not call it.
      '@typescript-eslint/unbound-method': 'off',
      'no-restricted-syntax': [
        'error',
        {
          // A pattern has no properties of its own, so every string would match, or none.
          selector:
            'CallExpression[callee.property.name=/^(toMatchObject|objectContaining)$/] :matches(Property, ArrayExpression) > Literal[regex]',
          message: 'Jest compares nothing with a pattern here: expect.stringMatching(...).',
        },
      ],
    },
  },
  {
    files: ['**/*.js', '**/*.cjs', '**/*.mjs'],
    extends: [tseslint.configs.base],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', ASYNC_LISTENERS],
      // The compiler reads these as well, and knows which names there are.
      'no-undef': 'off',
    },
  },
  { files: ['**/*.js', '**/*.cjs'], languageOptions: { sourceType: 'commonjs' } },
  {
    // Lines of code. A list of what is exported, or a contract that drivers and providers are held to, is one thing.
    files: ['apps/**', 'libs/**', 'scripts/**', 'bench/**'],
    ignores: ['**/*.{spec,long,engine,contract}.ts', 'libs/orders/src/index.ts'],
    rules: { 'max-lines': ['error', { max: 250, skipComments: true, skipBlankLines: true }] },
  },
);
