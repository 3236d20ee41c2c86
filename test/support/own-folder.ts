import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of the test file that calls this as it is loaded; gone after its tests. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lastcall-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
