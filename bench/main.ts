import 'reflect-metadata';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { burst } from './burst';
import { costOfWaiting } from './cost-of-waiting';
import { driverClosing } from './timers/driver-closing';
import { drivers } from './timers/driver-costs';
import { driverFaults } from './timers/driver-faults';
import { farDeadlines } from './far-deadlines';
import { firstBurst } from './first-burst';
import { growth } from './growth';
import { guard } from './guard';
import { heldRows } from './held-rows';
import { machine } from './machine';
import { manyProducts } from './many-products';
import { placing } from './placing';
import { poison } from './poison';
import { placingDuringBurst } from './placing-during-burst';
import { punctuality } from './punctuality';
import type { BenchOptions, Findings, Question } from './question';
import { asMarkdown, asText, type Measured } from './report';
import { severalApis } from './several-apis';
import { shardedSweep } from './sharded-sweep';
import { timersPage } from './timers/timers-page';
import { withSummary } from './summary';
import { webhooks } from './webhooks';
import { webhooksOut } from './webhooks-out';

/** They have a page of their own, and `--only drivers` asks all of them. */
const TIMER_QUESTIONS: readonly Question[] = [drivers, driverClosing, driverFaults];
const QUESTIONS: readonly Question[] = [
  burst,
  firstBurst,
  manyProducts,
  punctuality,
  placing,
  webhooks,
  webhooksOut,
  placingDuringBurst,
  severalApis,
  costOfWaiting,
  growth,
  farDeadlines,
  guard,
  poison,
  heldRows,
  shardedSweep,
  ...TIMER_QUESTIONS,
];
const TIMERS = 'timers.md';
const ROUNDS = 3;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      orders: { type: 'string' },
      driver: { type: 'string', multiple: true },
      write: { type: 'string' },
    },
  });
  const names = (values.only ?? QUESTIONS.map(({ name }) => name)).flatMap((name) =>
    name === drivers.name ? TIMER_QUESTIONS.map((one) => one.name) : [name],
  );
  const unknown = names.filter((name) => !QUESTIONS.some((one) => one.name === name));
  if (unknown.length > 0) {
    throw new Error(
      `No question "${unknown[0]}"; there are: ${QUESTIONS.map((q) => q.name).join(', ')}`,
    );
  }
  const say = (line: string): void => console.error(line);
  const options = {
    servers: { databaseUrl: env('DATABASE_URL'), redisUrl: env('REDIS_URL') },
    quick: values.quick,
    rounds: values.quick ? 1 : (wholeNumber('rounds', values.rounds) ?? ROUNDS),
    orders: wholeNumber('orders', values.orders),
    drivers: values.driver,
    say,
  };
  for (const question of QUESTIONS.filter(({ name }) => names.includes(name))) {
    say(`\n# ${question.name}: ${question.asks}`);
    const answered = await question.answer(options);
    // A second of cold code meets no goal and misses none.
    const findings = values.quick ? { ...answered, goals: [] } : answered;
    console.log(asText(findings));
    if (values.write !== undefined) await keep(values.write, question, findings, options);
  }
}

/** Keeps what was found beside what earlier runs have found, and writes the document anew. */
async function keep(
  folder: string,
  { name }: Question,
  findings: Findings,
  { servers, rounds }: BenchOptions,
): Promise<void> {
  const file = join(folder, 'generated', 'benchmarks.json');
  const kept: Record<string, Measured> = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Measured>)
    : {};
  const about = await machine(servers, { rounds, cores: availableParallelism() });
  kept[name] = { on: new Date().toISOString().slice(0, 10), about, findings };
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
  const others = QUESTIONS.filter((question) => !TIMER_QUESTIONS.includes(question));
  writeFileSync(join(folder, 'benchmarks.md'), asMarkdown(others, kept));
  if (TIMER_QUESTIONS.some(({ name }) => kept[name])) {
    writeFileSync(join(folder, TIMERS), timersPage(TIMER_QUESTIONS, kept));
  }
  const readme = join(folder, '..', 'README.md');
  writeFileSync(readme, withSummary(readFileSync(readme, 'utf8'), kept));
}

function env(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this by \`npm run bench\``);
  return value;
}

function wholeNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`--${flag} must be a whole number, not "${text}"`);
}

// Of a process that a signal ends nobody hears the exit, by which programs that it has started are ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}
main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error);
    process.exit(1);
  },
);
