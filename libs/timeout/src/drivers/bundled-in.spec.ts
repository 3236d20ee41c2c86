import { buildSync } from 'esbuild';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as registry from './registry';

/** A host's one file, into which its bundler has taken ours: the folder that they list is the host's. */

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'lastcall-bundle-'))));
afterAll(() => rmSync(folder, { recursive: true }));

it('says of timer drivers that are not there what to leave out of a bundle', () => {
  const outfile = join(folder, 'main.js');
  const entryPoints = [join(__dirname, 'registry.ts')];
  buildSync({ entryPoints, outfile, bundle: true, platform: 'node' });
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- it is made here
  const { timerDriverKinds } = require(outfile) as typeof registry;
  expect(timerDriverKinds).toThrow(
    /^@lastcall\/timeout is bundled in: .*\.timer\.js.*Leave it out of the bundle/,
  );
});
