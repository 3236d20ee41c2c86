import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from '../test/support/own-folder';

jest.setTimeout(120_000);

const PROJECT = join(__dirname, '..');
const SOURCES = ['.swcrc', 'package.json', 'package-lock.json', 'tsconfig.json', 'apps', 'libs'];

const folder = ownFolder();
const manifest = join(folder, 'oclif.manifest.json');

beforeAll(() => {
  for (const name of [...SOURCES, 'scripts']) {
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true, preserveTimestamps: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
});

/** As `npm start`, the tests and each other script do before anything else. */
function build(): { readonly status: number | null; readonly stderr: string } {
  const script = `
    import { setUp } from './scripts/set-up.mjs';
    await setUp({ signal: new AbortController().signal, say: () => undefined });`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: folder,
    encoding: 'utf8',
  });
}

const commands = (): string[] => {
  const { commands } = JSON.parse(readFileSync(manifest, 'utf8')) as { commands: object };
  return Object.keys(commands);
};

it('says which Node it needs, before it installs or builds anything', () => {
  const file = join(folder, 'package.json');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/"node": ">=[\d.]+"/, '"node": ">=99.1"'));
  const { status, stderr } = build();
  writeFileSync(file, text);
  expect(status).toBe(1);
  expect(stderr).toContain(`Node 99.1 or newer is needed, and this is ${process.versions.node}`);
  expect(existsSync(join(folder, 'dist'))).toBe(false);
});

it('goes on with a build whose last step has failed, until the commands are written down', () => {
  // Nothing can be put in its place.
  mkdirSync(join(manifest, 'in-the-way'), { recursive: true });
  expect(build().stderr).toContain('the build failed');

  rmSync(manifest, { recursive: true });
  writeFileSync(manifest, JSON.stringify({ commands: { 'of-a-version-before': {} } }));
  expect(build()).toMatchObject({ status: 0, stderr: '' });
  expect(commands()).toContain('doctor');
  expect(commands()).not.toContain('of-a-version-before');
});

it('does nothing where the build is whole and its sources are as they were', () => {
  writeFileSync(manifest, JSON.stringify({ commands: { 'of-this-build': {} } }));
  expect(build()).toMatchObject({ status: 0, stderr: '' });
  expect(commands()).toEqual(['of-this-build']);
});
