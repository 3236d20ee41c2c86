import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxConfig } from './config';
import { startSandbox } from './sandbox';
import { startUpWords } from './start-up-words';
import { SECRET } from './testing/harness';

async function wordsFor(settings: Partial<SandboxConfig>): Promise<string | undefined> {
  const config = { port: 0, webhookUrl: 'http://127.0.0.1:9', webhookSecret: SECRET };
  const refused = startSandbox({ ...config, dataFolder: null, ...settings });
  return refused.then(
    (sandbox) => sandbox.close().then(() => 'it has started'),
    (error: unknown) => startUpWords(error),
  );
}

it('names the address that is of another machine', async () => {
  // Of documentation (RFC 5737): no machine has it.
  expect(await wordsFor({ host: '192.0.2.1' })).toBe('SANDBOX_HOST is no address of this machine');
});

it('names the port that is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as AddressInfo;
  expect(await wordsFor({ port })).toBe('SANDBOX_PORT is taken by another process');
  await new Promise((resolve) => other.close(resolve));
});

it('names the data folder that is a file, or lies in one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const file = join(folder, 'file');
  await writeFile(file, '');
  for (const dataFolder of [file, join(file, 'within')]) {
    const words = await wordsFor({ dataFolder });
    expect(words).toMatch(/^SANDBOX_DATA is no folder that can be written to: .*file/);
  }
  await rm(folder, { recursive: true });
});

it('names the ledger that is damaged or has no room, and how to mend it', async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const file = join(dataFolder, 'ledger.jsonl');
  await writeFile(file, '[]\ndamaged\n[]\n');
  expect(await wordsFor({ dataFolder })).toBe(
    `${file} is damaged at line 2: remove that line, or the file to begin with no payments`,
  );
  await writeFile(file, '[{"event":{"id":"evt_1","status":"delivered"}}]\n');
  await symlink('/dev/full', `${file}.new`);
  expect(await wordsFor({ dataFolder })).toBe(
    `${file}.new cannot be written: ENOSPC: no space left on device, write`,
  );
  await rm(dataFolder, { recursive: true });
});

it('has no words for what nobody expected', () => {
  expect(startUpWords(new Error('a bug'))).toBeUndefined();
});
