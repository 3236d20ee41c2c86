// A PgBouncer: the one that is installed, or the distribution's, unpacked into a cache folder and
// started without root. Only tests use it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exists, libraryFolders, unpackedIn } from './apt.mjs';
import { EngineServer } from './engine-server.mjs';
import { cacheFolder } from './folders.mjs';
import { freePort } from './ports.mjs';
import { postgresUser } from './postgres-user.mjs';

/** Debian puts it where only root's PATH leads. */
const INSTALLED = ['pgbouncer', '/usr/sbin/pgbouncer'];
const PACKAGE = 'pgbouncer';

/** What is missing to have one; undefined when it is there, or apt has brought it. @returns {string | undefined} */
export function pgbouncerIsMissing() {
  const needed = INSTALLED.some(exists) ? [] : ['apt-get', 'apt-cache', 'dpkg'];
  const missing = needed.filter((program) => !exists(program));
  if (missing.length > 0) {
    return `no pgbouncer is installed, and ${missing.join(', ')} to unpack the distribution's is missing`;
  }
  try {
    findPgbouncer(console.log);
    return undefined;
  } catch (error) {
    return `no pgbouncer is installed, and apt brings none: ${/** @type {Error} */ (error).message}`;
  }
}

/** @param {(line: string) => void} say @returns {{ command: string, env: NodeJS.ProcessEnv }} */
function findPgbouncer(say) {
  const installed = INSTALLED.find(exists);
  if (installed) return { command: installed, env: {} };
  const folder = unpackedIn(cacheFolder('pgbouncer'), (apt, into) => {
    say('Unpacking the PgBouncer of this distribution, for this project only');
    apt.unpack([PACKAGE], into);
    apt.unpack(apt.librariesOf([PACKAGE]), into);
  });
  const command = join(folder, 'usr/sbin/pgbouncer');
  return { command, env: { LD_LIBRARY_PATH: libraryFolders(folder).join(':') } };
}

/**
 * @param {object} how
 * @param {string} how.folder where it keeps everything
 * @param {string} how.postgresUrl where it leads to, whoever asks
 * @param {string[]} how.settings lines of its configuration, as `pool_mode = session`
 * @param {(line: string) => void} how.say
 * @returns {Promise<EngineServer>}
 */
export async function startPgbouncer({ folder, postgresUrl, settings, say }) {
  const { command, env } = findPgbouncer(say);
  const port = await freePort();
  const { hostname, port: postgresPort, username, password, pathname } = new URL(postgresUrl);
  const configuration = join(folder, 'pgbouncer.ini');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    configuration,
    [
      '[databases]',
      `* = host=${hostname} port=${postgresPort} user=${username} password=${password}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      // Who comes from here is let in: the password is the one above.
      'auth_type = any',
      'default_pool_size = 60',
      ...settings,
      '',
    ].join('\n'),
    { mode: 0o600 },
  );
  // It does not run as root, and takes another identity once it has read its configuration.
  const { name, uid } = postgresUser('');
  const server = new EngineServer({
    url: `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`,
    folder,
    data: [],
    program: {
      ...{ name: 'PgBouncer', command, env, port },
      args: [...(uid === undefined ? [] : ['-u', name]), configuration],
    },
  });
  await server.start();
  return server;
}
