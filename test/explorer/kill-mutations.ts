import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FOUND_SOMETHING, type Exploration } from './exploration';
import { MUTATIONS } from './mutations.cjs';

const SEEDS = [1, 2, 3];
const PROGRAMS = 250;
const CROWDS = 60;
const ROOT = join(__dirname, '..', '..');
const REPORT = join(ROOT, 'docs', 'mutations.md');

interface Killed {
  readonly name: string;
  readonly what: string;
  /** The exploration that found it; undefined when none did. */
  readonly by: Exploration | undefined;
}

/** Explores with each seeded bug in turn; 0 when every one was found. */
export async function killMutations(names: readonly string[]): Promise<number> {
  const wanted = MUTATIONS.filter(({ name }) => names.length === 0 || names.includes(name));
  const killed: Killed[] = [];
  for (const { name, what, inCrowds = false } of wanted) {
    const by = await findKiller(name, inCrowds);
    killed.push({ name, what, by });
    console.log(by ? `${name}: ${summary(by)}` : `${name}: SURVIVED`);
  }
  if (names.length === 0) writeFileSync(REPORT, report(killed));
  return killed.every(({ by }) => by !== undefined) ? 0 : FOUND_SOMETHING;
}

async function findKiller(name: string, inCrowds: boolean): Promise<Exploration | undefined> {
  for (const seed of SEEDS) {
    const found = await explore(name, seed, inCrowds);
    if (found.broken !== null) return found;
  }
  return undefined;
}

/** A process of its own, because the bug is planted while sources are loaded. */
function explore(name: string, seed: number, inCrowds: boolean): Promise<Exploration> {
  const runs = inCrowds ? [String(CROWDS), '--crowds'] : [String(PROGRAMS)];
  const args = ['--seed', String(seed), '--stop-at-first', '--json', '--runs', ...runs];
  const child = spawn(
    process.execPath,
    ['--no-warnings', '-r', join(__dirname, 'register.cjs'), join(__dirname, 'main.ts'), ...args],
    {
      cwd: ROOT,
      env: { ...process.env, RACES_MUTATION: name },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => {
      const line = output.trim().split('\n').at(-1) ?? '';
      if (line.startsWith('{')) resolve(JSON.parse(line) as Exploration);
      else reject(new Error(`The exploration with "${name}" ended with ${code}`));
    });
  });
}

function summary({ seed, programs, broken }: Exploration): string {
  return `seed ${seed}, program ${programs}: ${firstFault(broken)}`;
}

function firstFault(broken: string | null): string {
  const [line = ''] = (broken ?? '').split('\n');
  // Ids differ from run to run.
  return line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…').replaceAll('|', '\\|');
}

function report(killed: readonly Killed[]): string {
  const rows = killed.map(({ name, what, by }) => {
    if (!by) return `| \`${name}\` | ${what} | **survived** | | |`;
    return `| \`${name}\` | ${what} | ${by.seed} | ${by.programs} | ${firstFault(by.broken)} |`;
  });
  return [
    '# Seeded bugs, and what found them',
    '',
    'Written by `npm run test:races -- --mutations`. Each bug is planted in the sources while a',
    'test loads them (`test/explorer/mutations.cjs`); nothing of it is in the build. The race explorer',
    `then runs up to ${PROGRAMS} random programs with each of the seeds ${SEEDS.join(', ')}, or ${CROWDS} of a`,
    'crowd (200 orders, three workers, their alarms). See one again with',
    '`RACES_MUTATION=<name> npm run test:races -- [--crowds] --seed <seed>`.',
    '',
    '| bug | | seed | programs until found | first fault |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
