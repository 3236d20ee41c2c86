import { slowness } from '../support/slowness';
import { FOUND_SOMETHING } from './exploration';
import { type Mutation, MUTATIONS } from './mutations.cjs';
import { type Found, writeMutations } from './mutations-report';
import { explore, failedTest, NO_BUG, SEEDS } from './seeded-runs';

/** Of each kind: how many programs of a seed are tried, how one asks for them, and their name in the report. */
const KINDS = {
  few: { count: 250, flags: [], of: '' },
  crowd: { count: 60, flags: ['--crowds'], of: ' of a crowd' },
  desk: { count: 250, flags: ['--desk'], of: ' of a desk' },
  targets: { count: 250, flags: ['--targets'], of: ' of a shop with orders of its own' },
  endpoints: { count: 250, flags: ['--endpoints'], of: ' with endpoints' },
} as const;
type Kind = keyof typeof KINDS;

/** What fails with nothing planted as well: it says nothing of a seeded bug. */
export class FailsAnyway extends Error {}

/**
 * Looks for each seeded bug in turn, or for those named, or for one in `oneIn` of them, after the first `from`; 0
 * when every one was found. What was found goes to docs/mutations.md.
 */
export async function killMutations(
  names: readonly string[],
  oneIn = 1,
  from = 0,
): Promise<number> {
  const wanted = MUTATIONS.filter(({ name }, index) =>
    names.length > 0 ? names.includes(name) : index % oneIn === from,
  );
  const unknown = names.filter((name) => !wanted.some((one) => one.name === name));
  if (unknown.length > 0) throw new Error(`There is no mutation ${unknown.join(', ')}`);
  if (wanted.length === 0) throw new Error(`There is no mutation ${from} of each ${oneIn}`);
  let survived = 0;
  for (const mutation of wanted) {
    const { name } = mutation;
    const by = await findKiller(mutation).catch((error: unknown) => {
      if (error instanceof FailsAnyway) return error;
      throw error;
    });
    if (by instanceof FailsAnyway) {
      console.log(`${name}: ${by.message}`);
      survived += 1;
      continue;
    }
    if (!by) survived += 1;
    console.log(by ? `${name}: ${by.where}: ${by.fault}` : `${name}: SURVIVED`);
    // A slice is for who waits for its answer, and changes no file.
    if (oneIn === 1) await writeMutations(name, by ?? null, limits());
  }
  return survived === 0 ? 0 : FOUND_SOMETHING;
}

const limits = (): string =>
  `up to ${KINDS.few.count} random programs with each of the seeds ${SEEDS.join(', ')}, or ${KINDS.crowd.count} of a crowd`;

async function findKiller(mutation: Mutation): Promise<Found | undefined> {
  const { name, spec } = mutation;
  if (spec) {
    const fault = await killingTest(name, spec);
    return fault === undefined ? undefined : { where: `\`${spec}\``, fault: firstFault(fault) };
  }
  const kind = kindOf(mutation);
  for (const seed of SEEDS) {
    const found = await killingProgram(name, seed, kind);
    if (found) return found;
  }
  return undefined;
}

function kindOf({ inCrowds, atDesk, ofTargets, withEndpoints }: Mutation): Kind {
  if (inCrowds) return 'crowd';
  if (atDesk) return 'desk';
  if (ofTargets) return 'targets';
  return withEndpoints ? 'endpoints' : 'few';
}

/**
 * The first program of `seed` that breaks a promise with a seeded bug, and none without it.
 * @throws {FailsAnyway} where it breaks one with nothing planted, too
 */
export async function killingProgram(
  name: string,
  seed: number,
  kind: Kind,
  explored = explore,
): Promise<Found | undefined> {
  const { count, flags, of } = KINDS[kind];
  const { broken, programs, path } = await explored(name, seed, [String(count), ...flags]);
  if (broken === null) return undefined;
  const where = `seed ${seed}, program ${programs}${of}`;
  const anyway = await explored(NO_BUG, seed, ['1', ...flags, '--path', path ?? '']);
  if (anyway.broken === null) return { where, fault: firstFault(broken) };
  throw new FailsAnyway(`${where} breaks without it, too: ${firstFault(anyway.broken)}`);
}

/**
 * What of `spec` fails with a seeded bug.
 * @throws {FailsAnyway} where others use the machine, and it fails by itself, of its limits
 */
export async function killingTest(
  name: string,
  spec: string,
  failed = failedTest,
  howSlow = slowness,
): Promise<string | undefined> {
  const fault = await failed(name, spec);
  if (fault === undefined || howSlow() === 1) return fault;
  const anyway = await failed(NO_BUG, spec);
  if (anyway === undefined) return fault;
  throw new FailsAnyway(`${spec} fails without it, too: ${anyway}`);
}

function firstFault(broken: string): string {
  const [line = ''] = broken.split('\n');
  // Ids differ from run to run.
  return line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…');
}
