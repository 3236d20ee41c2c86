import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NatsDriver } from './nats.driver';
import { refuseOldNatsClient } from './nats-versions';

describe('refuseOldNatsClient', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'lastcall-nats-'));
    mkdirSync(join(folder, 'lib'));
    const about = { name: '@nats-io/jetstream', version: '3.0.2' };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(about));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('names the version that there is and the one that schedules', () => {
    const entry = join(folder, 'lib', 'mod.js');
    expect(() => refuseOldNatsClient({}, () => entry)).toThrow(
      expect.objectContaining({
        code: 'old_nats_client',
        message: expect.stringMatching(
          /^The timer driver nats needs @nats-io\/jetstream 3\.2 or newer of 3; 3\.0\.2 is installed, /,
        ) as unknown,
      }),
    );
  });

  it('names none where it was bundled, and refuses it all the same', () => {
    const nowhere = () => {
      throw new Error('no modules here');
    };
    expect(() => refuseOldNatsClient({ PubHeaders: {} }, nowhere)).toThrow(
      'an older one is installed, ',
    );
  });

  it('takes the one that is installed here', () => {
    expect(() => refuseOldNatsClient()).not.toThrow();
  });
});

describe('NatsDriver at a server of NATS 2.11, which keeps schedules and does not heed them', () => {
  const sockets = new Set<Socket>();
  let server: Server;
  beforeAll(async () => {
    server = createServer((socket) => {
      sockets.add(socket);
      const about = { server_id: 'S', version: '2.11.4', headers: true, max_payload: 1_048_576 };
      socket.write(`INFO ${JSON.stringify(about)}\r\n`);
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        if (data.includes('PING')) socket.write('PONG\r\n');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it('arms nothing there, and says why', async () => {
    const { port } = server.address() as AddressInfo;
    const driver = new NatsDriver({
      servers: `nats://127.0.0.1:${port}`,
      stream: 'old',
      databaseClock: { nowMs: () => Date.now() },
      onError: () => undefined,
    });
    const alarm = { id: 'a', at: new Date(Date.now() + 60_000) };
    await expect(driver.arm([alarm])).rejects.toThrow(
      'NATS 2.11.4: run nats-server 2.12 or newer: older ones schedule no messages',
    );
    await driver.stop();
  });
});
