import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { copyWithNewKind } from './new-kind';

const MAIN = ['--no-warnings', '-r', './test/support/swc-register.cjs'].concat(
  'test/closing/new-kind-main.ts',
);

describe('a new kind of deadline', () => {
  it('takes a row of the table, a handler, a setting and the invariants; all else follows', async () => {
    const copy = copyWithNewKind();
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [...MAIN, 'thanks'], {
        cwd: copy,
      });
      expect(JSON.parse(stdout)).toEqual({
        armed: ['thanks'],
        lost: { missing: ['thanks'], violated: ['deadlines_present'] },
        armedAgain: ['thanks'],
        early: [],
        late: [{ text: 'Thank you for your order' }],
        afterwards: { missing: [], violated: [] },
      });
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
});
