import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOwnFile } from './own-file';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'lastcall-own-file-'))));
afterEach(() => rmSync(folder, { recursive: true }));

it('reads what is beside our code', () => {
  writeFileSync(join(folder, 'own.sql'), 'SELECT 1');
  expect(readOwnFile(folder, 'own.sql')).toBe('SELECT 1');
});

it('says what to leave out of a bundle where the code alone was taken', () => {
  expect(() => readOwnFile(folder, 'own.sql')).toThrow(
    /^@lastcall\/orders is bundled in: there is no .*own\.sql\. Leave it out of the bundle/,
  );
});
