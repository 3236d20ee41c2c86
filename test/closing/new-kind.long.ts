import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { copyWithNewKind } from './new-kind';

const TSC = join(__dirname, '../../node_modules/typescript/bin/tsc');
const LIMIT_MS = 120_000;

describe('a new kind of deadline', () => {
  it(
    'needs nothing more for the compiler to agree',
    async () => {
      const copy = copyWithNewKind();
      try {
        const config = {
          extends: './tsconfig.json',
          include: ['libs/orders/src/**/*.deadline.ts'],
        };
        writeFileSync(join(copy, 'tsconfig.types.json'), JSON.stringify(config));
        await promisify(execFile)(process.execPath, [TSC, '-p', 'tsconfig.types.json'], {
          cwd: copy,
        });
      } finally {
        rmSync(copy, { recursive: true });
      }
    },
    LIMIT_MS,
  );
});
