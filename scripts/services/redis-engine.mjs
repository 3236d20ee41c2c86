// A Redis to be killed, frozen, emptied and started again, by tests and benchmarks. It flushes to
// disk as in production.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { EngineServer } from './engine-server.mjs';
import { freePort } from './ports.mjs';
import { findRedisBinary } from './redis-binary.mjs';

/**
 * @param {object} how
 * @param {string} how.folder where it keeps everything
 * @param {(line: string) => void} how.say
 * @returns {Promise<EngineServer>}
 */
export async function startRedisEngine({ folder, say }) {
  const port = await freePort();
  const data = join(folder, 'data');
  const settings = {
    ...{ bind: '127.0.0.1', port, dir: data, save: '', hz: 100 },
    ...{ appendonly: 'yes', appendfsync: 'everysec', 'maxmemory-policy': 'noeviction' },
  };
  const server = new EngineServer({
    url: `redis://127.0.0.1:${port}`,
    folder,
    data: [data],
    prepare: () => mkdirSync(data, { recursive: true }),
    program: {
      name: 'Redis',
      command: findRedisBinary(say),
      args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]),
      port,
    },
  });
  await server.start();
  return server;
}
