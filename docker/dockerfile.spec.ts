import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { sourceOf } from './source-of';

// No container engine is needed here: what can be wrong in a Dockerfile without one being there to say so
// are names of files and commands.

const project = join(__dirname, '..');
const read = (path: string): string => readFileSync(join(project, path), 'utf8');

const instructions = read('docker/Dockerfile')
  .replace(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '' && !line.startsWith('#'))
  .map((line) => /^(\w+)\s+(.*)$/.exec(line) as unknown as [string, string, string])
  .map(([, name, rest]) => ({ name, rest }));

/** What the build has of this folder. */
const copied = instructions
  .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from'))
  .flatMap(({ rest }) => rest.split(/\s+/).slice(0, -1));

const allowedIntoTheBuild = read('.dockerignore')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));

describe('Dockerfile', () => {
  it('has instructions only', () => {
    const known = 'FROM WORKDIR COPY RUN ENV USER EXPOSE HEALTHCHECK CMD'.split(' ');
    expect(instructions.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual(
      [],
    );
  });

  it('copies what exists, and what .dockerignore lets in', () => {
    expect(copied.filter((path) => !existsSync(join(project, path)))).toEqual([]);
    expect(
      copied.filter(
        (path) => !allowedIntoTheBuild.some((root) => `${path}/`.startsWith(`${root}/`)),
      ),
    ).toEqual([]);
    expect(allowedIntoTheBuild.filter((path) => !existsSync(join(project, path)))).toEqual([]);
  });

  it('copies from stages it has', () => {
    const stages = instructions.flatMap(({ rest }) => / AS (\w+)$/.exec(rest)?.[1] ?? []);
    const used = instructions.flatMap(({ rest }) => /^--from=(\w+)/.exec(rest)?.[1] ?? []);
    expect(used).not.toEqual([]);
    expect(used.filter((stage) => !stages.includes(stage))).toEqual([]);
  });

  it('runs the scripts that package.json has, and the programs that are built', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const run = instructions.flatMap(({ rest }) => /npm run (\S+)/.exec(rest)?.[1] ?? []);
    expect(run).toEqual(['build']);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(run));
    const programs = scripts.build?.match(/[\w/-]+\.m?js/g) ?? [];
    expect(programs).not.toEqual([]);
    expect(programs.filter((path) => !copied.some((root) => path.startsWith(`${root}/`)))).toEqual(
      [],
    );
    const [command] = instructions.filter(({ name }) => name === 'CMD').slice(-1);
    const args = JSON.parse(command?.rest ?? '[]') as string[];
    expect(existsSync(join(project, sourceOf(args.at(-1) ?? '')))).toBe(true);
    // As `npm start` runs it.
    const launcher = read('scripts/launcher/launch.mjs');
    expect(launcher).toContain(`const APP_FLAGS = ['${args.slice(1, -1).join("', '")}'];`);
  });

  it('installs the command line where package.json says it is', () => {
    const { bin } = JSON.parse(read('package.json')) as { bin: Record<string, string> };
    expect(read('docker/Dockerfile')).toContain(`/app/${bin['lastcall']} /usr/local/bin/lastcall`);
  });

  it('begins with one image of Node, by version and digest', () => {
    const images = instructions
      .filter(({ name }) => name === 'FROM')
      .map(({ rest }) => rest.split(' ')[0] ?? '');
    expect(new Set(images).size).toBe(1);
    expect(images[0]).toMatch(/^node:20\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/);
  });

  it('does not run as root', () => {
    const last = instructions.map(({ name }) => name).lastIndexOf('FROM');
    expect(instructions.slice(last).find(({ name }) => name === 'USER')?.rest).toBe('node');
  });

  it('says whether it is healthy', () => {
    const check = instructions.find(({ name }) => name === 'HEALTHCHECK')?.rest ?? '';
    const [, , script] = JSON.parse(check.slice(check.indexOf('['))) as string[];
    expect(() => new Script(script ?? '(')).not.toThrow();
    expect(script).toContain('/health/live');
  });
});
