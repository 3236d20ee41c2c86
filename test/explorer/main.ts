// npm run test:races -- [--crowds|--desk|--targets|--endpoints] [--runs N] [--seed S] [--path P]: explores random programs, or one again.
// --mutations [--one-in N [--from M] | name...]: shows that each seeded bug is found, and writes docs/mutations.md.
import { inspect, parseArgs } from 'node:util';
import * as fc from 'fast-check';
import { FOUND_SOMETHING, type Exploration } from './exploration';
import { CrowdExplorer } from './crowd/crowd';
import { crowdPrograms } from './crowd/crowd-program';
import { deskPrograms } from './desk/desk-program';
import { endpointPrograms } from './endpoints/endpoint-program';
import { Explorer } from './explorer';
import { killMutations } from './kill-mutations';
import { programs } from './program';
import { NO_BUG } from './seeded-runs';
import { targetPrograms } from './targets/target-program';
import { TargetExplorer } from './targets/targets';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '150' },
    /** Fixed, so that every run of the same sources explores the same programs. */
    seed: { type: 'string', default: '1' },
    path: { type: 'string' },
    'stop-at-first': { type: 'boolean', default: false },
    /** Programs of many orders and several workers, instead of few of each. */
    crowds: { type: 'boolean', default: false },
    /** Programs in which operators settle money, and refunds fail. */
    desk: { type: 'boolean', default: false },
    /** Programs of a shop with an orders table of its own. */
    targets: { type: 'boolean', default: false },
    /** Programs of a shop whose own systems hear of events, and fail. */
    endpoints: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    mutations: { type: 'boolean', default: false },
    'one-in': { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
  },
});

const isMutated = (process.env.RACES_MUTATION ?? NO_BUG) !== NO_BUG;
/** Rejections that nobody has handled: each would end a process of the product. */
const unhandled: unknown[] = [];

/** @throws {Error} what broke, also where every promise held and a process would have ended */
async function run<P>(explorer: { run(program: P): Promise<void> }, program: P): Promise<void> {
  const broken = await explorer.run(program).then(
    () => undefined,
    (error: Error) => error,
  );
  await new Promise(setImmediate);
  // Of each program its own, also where it broke a promise as well.
  const [error] = unhandled.splice(0);
  if (broken) throw broken;
  // What a seeded bug no longer waits for may fail by itself; the promises it breaks tell of it.
  if (error === undefined || isMutated) return;
  throw new Error(`nobody handles a rejection, which ends a process: ${inspect(error)}`);
}

interface Explores<P> {
  run(program: P): Promise<void>;
  close(): Promise<void>;
}

async function explore(): Promise<Exploration> {
  if (values.crowds) return exploreWith(await CrowdExplorer.open(), crowdPrograms);
  if (values.targets) return exploreWith(await TargetExplorer.open(), targetPrograms);
  const of = values.desk ? deskPrograms : values.endpoints ? endpointPrograms : programs;
  return exploreWith(await Explorer.open({ keepsTime: values.endpoints }), of);
}

async function exploreWith<P>(explorer: Explores<P>, of: fc.Arbitrary<P>): Promise<Exploration> {
  const startedMs = performance.now();
  const seed = Number(values.seed);
  try {
    const parameters = {
      numRuns: Number(values.runs),
      seed,
      ...(values.path ? { path: values.path } : {}),
      endOnFailure: values['stop-at-first'],
    };
    const played = fc.asyncProperty(of, (program) => run(explorer, program));
    const result = await fc.check(played, parameters);
    const error = result.errorInstance;
    return {
      seed,
      programs: result.numRuns,
      tookMs: Math.round(performance.now() - startedMs),
      path: result.counterexamplePath,
      broken: result.failed ? (error instanceof Error ? error.message : String(error)) : null,
    };
  } finally {
    await explorer.close();
  }
}

async function main(): Promise<number> {
  if (values.mutations) {
    return killMutations(positionals, Number(values['one-in']), Number(values.from));
  }
  const {
    seed,
    programs: count,
    tookMs,
    path,
    broken,
  } = await explore().then((found) => {
    if (values.json) console.log(JSON.stringify(found));
    return found;
  });
  if (values.json) return broken === null ? 0 : FOUND_SOMETHING;
  const took = `${Math.round(tookMs / 1_000)} s`;
  if (broken === null) {
    console.log(`${count} programs, seed ${seed}: every promise held (${took})`);
    return 0;
  }
  console.log(broken);
  console.log(`\nafter ${count} programs (${took}); again by:`);
  const kind = (['crowds', 'desk', 'targets', 'endpoints'] as const).find((name) => values[name]);
  console.log(
    `npm run test:races -- ${kind ? `--${kind} ` : ''}--seed ${seed} --path ${path ?? ''}`,
  );
  return FOUND_SOMETHING;
}

process.on('unhandledRejection', (error: unknown) => unhandled.push(error));

// Crashed processes of a program are still waiting for their answers: nothing else ends them.
void main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
