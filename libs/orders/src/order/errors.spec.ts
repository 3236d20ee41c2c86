import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Pool } from 'pg';
import { reasonOf } from './errors';

describe('why something failed', () => {
  it('is what it was wrapped in', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:1');
    const error = new Error('it failed', { cause: new AggregateError([refused]) });
    expect(reasonOf(error)).toBe(refused.message);
  });

  it('is that a Postgres said nothing, and not that we hung up then', async () => {
    const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const pool = new Pool({ host: '127.0.0.1', port, connectionTimeoutMillis: 50 });
    try {
      const error: unknown = await pool.connect().catch((thrown: unknown) => thrown);
      expect(reasonOf(error)).toBe('Connection terminated due to connection timeout');
    } finally {
      await pool.end();
      server.close();
    }
  });
});
