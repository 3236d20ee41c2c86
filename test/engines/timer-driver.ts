import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Engine } from './engine';

const JEST = 'node_modules/jest/bin/jest.js';

/** A real server, as Debian, Maven or Go has it, judges the timer driver that is named after it. */
function timerDriver(name: string, driver: string): Engine {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module without types
  const starter = require(`../../scripts/services/${driver}.mjs`) as Record<
    string,
    () => string | undefined
  >;
  return {
    name,
    judges: `the contract of the timer driver ${driver}, and closing on time with it`,
    missing: () => starter[`${driver}IsMissing`]?.(),
    judge: () => run([`(drivers|closing)/${driver}[./]`]),
  };
}

export const timerDrivers: readonly Engine[] = [
  timerDriver('NATS', 'nats'),
  timerDriver('RabbitMQ', 'rabbitmq'),
  timerDriver('RocketMQ', 'rocketmq'),
];

async function run(patterns: readonly string[]): Promise<string> {
  const args = [JEST, '--config', 'jest.engines.config.js', '--runInBand', ...patterns];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe'] });
  let report = '';
  child.stderr.on('data', (chunk: Buffer) => (report += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(report);
  return /^Tests:\s+(.*)$/m.exec(report)?.[1] ?? 'nothing was reported';
}
