// A RabbitMQ of Debian's packages, unpacked into a cache folder and started without root. Only
// tests use it: nothing here is for data that must survive.
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { exists, libraryFolders, unpackedIn } from './apt.mjs';
import { EngineServer } from './engine-server.mjs';
import { cacheFolder } from './folders.mjs';
import { freePort } from './ports.mjs';

const ERLANG =
  'base asn1 crypto eldap ftp inets mnesia os-mon parsetools public-key runtime-tools snmp ssl ' +
  'syntax-tools tftp tools xmerl';
const PACKAGES = [
  'rabbitmq-server',
  'libsctp1',
  ...ERLANG.split(' ').map((name) => `erlang-${name}`),
];

const NODE = 'lc@localhost';
/** As brokers of shops have them. */
const [USER, PASSWORD] = ['lastcall', '50% öl'];
/** Salt of four bytes, and what is hashed with it. @param {string} password */
function hashOf(password) {
  const salt = randomBytes(4);
  const hash = createHash('sha256').update(salt).update(password).digest();
  return Buffer.concat([salt, hash]).toString('base64');
}
/** What a broker has by itself, and the limit that RabbitMQ 4 has unless told otherwise. */
const DEFINITIONS = {
  vhosts: [{ name: '/' }],
  users: [{ name: USER, password_hash: hashOf(PASSWORD), tags: 'administrator' }],
  permissions: [{ user: USER, vhost: '/', configure: '.*', write: '.*', read: '.*' }],
  policies: [
    {
      ...{ name: 'as RabbitMQ 4', vhost: '/', pattern: '.*', 'apply-to': 'queues', priority: 0 },
      definition: { 'delivery-limit': 20 },
    },
  ],
};

/** What is missing to have one; undefined when it can be had. @returns {string | undefined} */
export function rabbitmqIsMissing() {
  if (existsSync(join(cacheFolder('rabbitmq'), 'current'))) return undefined;
  const missing = ['apt-get', 'apt-cache', 'dpkg'].filter((program) => !exists(program));
  if (missing.length === 0) return undefined;
  return `needs ${missing.join(', ')} to unpack the distribution's RabbitMQ (Debian, Ubuntu)`;
}

/** @param {(line: string) => void} say @returns {string} the folder it is unpacked in */
function findRabbitmq(say) {
  return unpackedIn(cacheFolder('rabbitmq'), (apt, folder) => {
    say('Unpacking the RabbitMQ of this distribution, for this project only');
    apt.unpack(PACKAGES, folder);
  });
}

/**
 * @param {object} how
 * @param {string} how.folder where it keeps everything
 * @param {(line: string) => void} how.say
 * @returns {Promise<EngineServer & { control(...args: string[]): Promise<unknown> }>}
 */
export async function startRabbitmq({ folder, say }) {
  const root = findRabbitmq(say);
  const erlang = join(root, 'usr/lib/erlang');
  const [erts = ''] = readdirSync(erlang).filter((name) => name.startsWith('erts-'));
  const bin = join(erlang, erts, 'bin');
  mkdirSync(join(folder, 'bin'), { recursive: true });
  // Debian's own knows one place only. Ours stands before it on the PATH.
  const erl = join(folder, 'bin', 'erl');
  const variables = `ROOTDIR='${erlang}' BINDIR='${bin}' EMU=beam PROGNAME=erl`;
  writeFileSync(erl, `#!/bin/sh\nexport ${variables}\nexec '${bin}/erlexec' "$@"\n`);
  chmodSync(erl, 0o755);
  writeFileSync(join(folder, 'plugins'), '[].');
  const definitions = join(folder, 'definitions.json');
  writeFileSync(definitions, JSON.stringify(DEFINITIONS));
  writeFileSync(join(folder, 'rabbitmq.conf'), `load_definitions = ${definitions}\n`);
  const [port, epmdPort, distributionPort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    // A cookie of its own, readable by nobody else, is made there.
    HOME: folder,
    LD_LIBRARY_PATH: libraryFolders(root).join(':'),
    ERL_EPMD_PORT: `${epmdPort}`,
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: NODE,
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: `${port}`,
    RABBITMQ_DIST_PORT: `${distributionPort}`,
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_CONF_ENV_FILE: '/nonexistent',
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    RABBITMQ_LOGS: '-',
  };
  const [home] = readdirSync(join(root, 'usr/lib/rabbitmq/lib'));
  const script = join(root, 'usr/lib/rabbitmq/lib', home ?? '', 'sbin', 'rabbitmq-server');
  const server = new EngineServer({
    url: `amqp://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    folder,
    data: [join(folder, 'data')],
    // Its list of quorum queues is written every half second: one that was declared since then has
    // a name after a kill, and never a leader again (docs/drivers.md).
    settlesMs: 1_000,
    helpers: [
      {
        ...{ name: "Erlang's port mapper", command: join(bin, 'epmd'), port: epmdPort, env },
        args: ['-address', '127.0.0.1', '-port', `${epmdPort}`],
      },
    ],
    program: { name: 'RabbitMQ', command: script, args: [], env, port },
  });
  await server.start();
  const command = script.replace('rabbitmq-server', 'rabbitmqctl');
  /** @param {string[]} args as an operator gives them to rabbitmqctl */
  const control = (...args) => promisify(execFile)(command, ['-n', NODE, ...args], { env });
  return Object.assign(server, { control });
}
