import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

jest.setTimeout(60_000);

let registry: Server;
afterEach(() => {
  registry.closeAllConnections();
  registry.close();
});

/** Asks a registry that answers so. */
async function audit(answer: (child: ChildProcess) => number | undefined): Promise<object> {
  registry = createServer((_, response) => {
    const status = answer(child);
    if (status !== undefined) response.writeHead(status).end('{}');
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const { port } = registry.address() as AddressInfo;
  const child = spawn(process.execPath, [join(__dirname, 'audit.mjs')], {
    env: {
      ...process.env,
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_fetch_retries: '0',
      npm_config_noproxy: '127.0.0.1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

it('says that nothing is known where the registry answers no audits', async () => {
  expect(await audit(() => 404)).toEqual({
    code: 0,
    output: expect.stringMatching(/^NOT CHECKED: .+\n$/),
  });
});

it('finds nothing where it is told to stop before the answer', async () => {
  const told = audit((child) => void child.kill('SIGTERM'));
  expect(await told).toEqual({ code: 143, output: '' });
});
