// A NATS server built by Go. Only tests use it: nothing here is for data that must survive.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exists } from './apt.mjs';
import { EngineServer } from './engine-server.mjs';
import { cacheFolder } from './folders.mjs';
import { freePort } from './ports.mjs';

const MODULE = 'github.com/nats-io/nats-server/v2';
const VERSION = 'v2.15.2';
/** As servers of shops have them. */
const [USER, PASSWORD] = ['lastcall', '50% öl'];

const program = () => join(cacheFolder('nats'), VERSION, 'nats-server');

/** What is missing to have one; undefined when it can be had. @returns {string | undefined} */
export function natsIsMissing() {
  if (existsSync(program()) || exists('go')) return undefined;
  return 'the tool `go` is not on the PATH; install Go (go.dev/doc/install) and run it again';
}

/** @param {(line: string) => void} say */
function build(say) {
  if (existsSync(program())) return;
  say(`Building the NATS server ${VERSION} by Go, for this project only`);
  const { status, stderr } = spawnSync('go', ['install', `${MODULE}@${VERSION}`], {
    env: { ...process.env, GOBIN: join(cacheFolder('nats'), VERSION) },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the NATS server could not be built: ${stderr.trim()}`);
}

/**
 * @param {object} how
 * @param {string} how.folder where it keeps everything
 * @param {(line: string) => void} how.say
 * @returns {Promise<EngineServer>}
 */
export async function startNats({ folder, say }) {
  build(say);
  const port = await freePort();
  const store = join(folder, 'store');
  mkdirSync(folder, { recursive: true });
  const settings = join(folder, 'nats.conf');
  writeFileSync(
    settings,
    `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${store}", sync_interval: always }\n` +
      `authorization { user: "${USER}", password: "${PASSWORD}" }\n`,
  );
  const server = new EngineServer({
    url: `nats://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    folder,
    data: [store],
    program: { name: 'NATS', command: program(), args: ['-c', settings], port },
  });
  await server.start();
  return server;
}
