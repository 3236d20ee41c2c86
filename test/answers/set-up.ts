import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FOLDER } from './record-answers';

/** Jest's globalSetup: the processes of this run inherit it. */
export default function setUp(): void {
  process.env[FOLDER] = mkdtempSync(join(tmpdir(), 'lastcall-answers-'));
}
