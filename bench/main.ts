import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { burst } from './burst';
import { costOfWaiting } from './cost-of-waiting';
import { growth } from './growth';
import { guard } from './guard';
import { machine } from './machine';
import { placing } from './placing';
import { placingDuringBurst } from './placing-during-burst';
import { punctuality } from './punctuality';
import type { Findings, Question } from './question';
import { asMarkdown, asText } from './report';
import { webhooks } from './webhooks';

const QUESTIONS: readonly Question[] = [
  burst,
  punctuality,
  placing,
  webhooks,
  placingDuringBurst,
  costOfWaiting,
  growth,
  guard,
];
const ROUNDS = 3;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      orders: { type: 'string' },
      write: { type: 'string' },
    },
  });
  const names = values.only ?? QUESTIONS.map(({ name }) => name);
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
    say,
  };
  const found = new Map<Question, Findings>();
  for (const question of QUESTIONS.filter(({ name }) => names.includes(name))) {
    say(`\n# ${question.name}: ${question.asks}`);
    const answered = await question.answer(options);
    // A second of cold code meets no goal and misses none.
    const findings = values.quick ? { ...answered, goals: [] } : answered;
    found.set(question, findings);
    console.log(asText(findings));
  }
  if (values.write === undefined) return;
  const about = await machine(options.servers, {
    rounds: options.rounds,
    cores: availableParallelism(),
  });
  writeFileSync(join(values.write, 'benchmarks.md'), asMarkdown(about, found));
  const charts = [...found.values()].flatMap((findings) => findings.charts ?? []);
  writeFileSync(join(values.write, 'benchmarks.charts.json'), JSON.stringify(charts));
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

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error);
    process.exit(1);
  },
);
