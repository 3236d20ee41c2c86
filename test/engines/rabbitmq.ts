import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from './engine';

interface Starter {
  rabbitmqIsMissing(): string | undefined;
  startRabbitmq(how: {
    folder: string;
    say(line: string): void;
  }): Promise<{ url: string; stop(): Promise<void> }>;
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- an ES module without types
const starter = require('../../scripts/services/rabbitmq.mjs') as Starter;

const JEST = 'node_modules/jest/bin/jest.js';

/** A real broker judges the rabbitmq timer driver. */
export const rabbitmq: Engine = {
  name: 'RabbitMQ',
  judges: 'the contract of the timer driver rabbitmq',
  missing: () => (process.env.TEST_RABBITMQ_URL ? undefined : starter.rabbitmqIsMissing()),
  async judge() {
    const folder = mkdtempSync(join(tmpdir(), 'lastcall-rabbitmq-'));
    const { TEST_RABBITMQ_URL: given } = process.env;
    const broker = given
      ? { url: given, stop: async () => undefined }
      : await starter.startRabbitmq({ folder, say: (line) => console.error(line) });
    try {
      return await contract(broker.url);
    } finally {
      await broker.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  },
};

async function contract(url: string): Promise<string> {
  const args = [JEST, '--config', 'jest.engines.config.js', 'rabbitmq'];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, TEST_RABBITMQ_URL: url },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let report = '';
  child.stderr.on('data', (chunk: Buffer) => (report += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(report);
  return /^Tests:\s+(.*)$/m.exec(report)?.[1] ?? 'nothing was reported';
}
