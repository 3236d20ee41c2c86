import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from './engine';

/** What Docker Compose itself reads its files by, with the schema of the specification in it. */
const MODULE = 'github.com/compose-spec/compose-go/v2/cmd';
const VERSION = 'v2.16.2';
const PROJECT = join(__dirname, '../..');
const FOLDER = join(PROJECT, 'node_modules/.cache/compose-go', VERSION);
const PROGRAM = join(FOLDER, process.platform === 'win32' ? 'cmd.exe' : 'cmd');
const FILE = 'docker/compose.yaml';

/** A name that is none, for one that is: a judge who takes that has not looked. */
const SPOILED = ['mem_limit: 768m', 'memory_limit: 768m'] as const;

/** Judges compose.yaml by the Compose Specification; what the parts are told is docker/compose.spec.ts'. */
export const composeGo: Engine = {
  name: 'compose-go',
  judges: 'compose.yaml, by the schema of the Compose Specification',

  missing() {
    if (existsSync(PROGRAM) || spawnSync('go', ['version']).status === 0) return undefined;
    return 'the tool `go` is not on the PATH; install Go (go.dev/doc/install) and run it again';
  },

  async judge() {
    build();
    const text = readFileSync(join(PROJECT, FILE), 'utf8');
    const objection = objectionTo(text);
    if (objection !== undefined) throw new Error(`it objects to ${FILE}: ${objection}`);
    if (!text.includes(SPOILED[0])) throw new Error(`${FILE} has no "${SPOILED[0]}" to spoil`);
    if (!objectionTo(text.replace(...SPOILED))?.includes('memory_limit')) {
      throw new Error('it takes a name that the specification does not have');
    }
    return `no objection to ${FILE}, and one to a name that is none`;
  },
};

function build(): void {
  if (existsSync(PROGRAM)) return;
  mkdirSync(FOLDER, { recursive: true });
  const { status, stderr } = spawnSync('go', ['install', `${MODULE}@${VERSION}`], {
    env: { ...process.env, GOBIN: FOLDER },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`it could not be built: ${stderr.trim()}`);
}

/** Secrets stay names: they are an operator's, and `${NAME:?}` is a value as good as theirs here. */
function objectionTo(text: string): string | undefined {
  const { status, stderr } = spawnSync(PROGRAM, ['-no-interpolation', '-'], {
    cwd: join(PROJECT, 'docker'),
    input: text,
    encoding: 'utf8',
  });
  return status === 0 ? undefined : stderr.trim();
}
