// npm start, from the first check to the last process stopped. Whatever happens on the way, what
// was started is stopped in the opposite order: the app drains while its servers still run.
import { runCommand } from '../run-command.mjs';
import { projectFolder } from '../services/folders.mjs';
import { createApplicationUser, startPostgres, startRedis } from '../services/index.mjs';
import { spawnService, untilReady } from '../services/service.mjs';
import { describeFailure } from './describe-failure.mjs';
import { Home, Refusal } from './home.mjs';
import { Interruption, untilAborted } from './interruption.mjs';
import { reachedAt } from './reached-at.mjs';
import { addressesOfRun, environmentOfApp, environmentOfSandbox } from './run-settings.mjs';
import { RunningProcesses } from './running-processes.mjs';
import { welcome } from './welcome.mjs';

/** @typedef {import('../services/service.mjs').Running} Running */
/** @typedef {{ migrate: string, app: string, sandbox: string }} Entries the programs to run */

/**
 * @typedef {object} LaunchOptions
 * @property {NodeJS.ProcessEnv} env
 * @property {Entries} entries
 * @property {(options: { signal: AbortSignal, say: (line: string) => void }) => Promise<void>} setUp
 * @property {(line: string) => void} say
 */

/** Longer than the longest SHUTDOWN_NOTICE, and what follows it. */
const APP_STOP_LIMIT_MS = 30_000;
/** What requests leave behind dies young, where there is room for it to (docs/operations.md). */
const APP_FLAGS = ['--max-semi-space-size=64'];
const SANDBOX_STOP_LIMIT_MS = 5_000;

/**
 * @param {LaunchOptions} options
 * @returns {Promise<number>} the exit code
 */
export async function launch(options) {
  const launcher = new Launcher(options);
  return await launcher.run();
}

class Launcher {
  #env;
  #entries;
  #setUp;
  #say;
  #exitCode = 0;
  #interruption = new Interruption();
  /** @type {(() => void | Promise<void>)[]} */
  #undo = [];
  /** @type {Promise<string>[]} resolve, with what happened, when a process that should run ends */
  #losses = [];
  /** @type {RunningProcesses | undefined} */
  #processes;

  /** @param {LaunchOptions} options */
  constructor({ env, entries, setUp, say }) {
    // An empty variable means the same as none.
    this.#env = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
    this.#entries = entries;
    this.#setUp = setUp;
    this.#say = say;
  }

  async run() {
    this.#interruption.listen(this.#env, this.#say);
    this.#outliveSurprises();
    const { signal } = this.#interruption;
    try {
      await this.#start();
      const loss = await Promise.race([...this.#losses, untilAborted(signal)]);
      if (!signal.aborted) this.#fail(`Stopping, because ${loss}`);
    } catch (error) {
      if (!signal.aborted) this.#fail(describeFailure(error));
    }
    await this.#stop();
    return this.#exitCode;
  }

  /** @param {string} reason */
  #fail(reason) {
    this.#exitCode = 1;
    this.#say(reason);
  }

  async #start() {
    const { signal } = this.#interruption;
    const env = this.#env;
    const home = new Home(env.LASTCALL_HOME);
    this.#undo.push(home.lock(), () => home.withdraw());
    home.withdraw();
    this.#processes = new RunningProcesses(home.path('processes.json'));
    await this.#processes.stopLeftovers(this.#say);
    this.#undo.push(() => this.#processes?.clear());

    await this.#setUp({ signal, say: this.#say });
    const addresses = await addressesOfRun(env, this.#say);
    const secrets = home.secrets();
    const owner = env.DATABASE_URL ? undefined : await this.#startPostgres(home, secrets);
    const stores = {
      DATABASE_URL: owner
        ? await createApplicationUser(owner, secrets.POSTGRES_USER_PASSWORD ?? '')
        : (env.DATABASE_URL ?? ''),
      REDIS_URL: env.REDIS_URL ?? (await this.#startRedis(home, secrets)),
    };
    const { runtime, childEnv } = environmentOfApp({ env, addresses, stores, secrets, home });
    // Nobody but the migrations has the owner's rights.
    const asOwner = owner ? { DATABASE_URL: owner, DATABASE_ROLE: 'lastcall_app' } : {};
    await this.#migrate({ ...childEnv, ...asOwner });
    home.announce(runtime);

    if (addresses.sandboxPort !== null)
      await this.#startSandbox(home, environmentOfSandbox({ env, addresses, secrets, home }));
    await this.#startApp(home, childEnv);
    this.#say(await welcome(env, home, runtime));
  }

  /** @param {Home} home @param {import('./home.mjs').Settings} secrets */
  async #startPostgres(home, secrets) {
    const postgres = await startPostgres({
      dataDir: home.path('postgres'),
      logFile: home.path('logs/postgres.log'),
      password: secrets.POSTGRES_PASSWORD ?? '',
      durable: true,
      signal: this.#interruption.signal,
      say: this.#say,
    });
    this.#keep('Postgres', postgres);
    return postgres.url;
  }

  /** @param {Home} home @param {import('./home.mjs').Settings} secrets */
  async #startRedis(home, secrets) {
    const redis = await startRedis({
      dataDir: home.path('redis'),
      logFile: home.path('logs/redis.log'),
      password: secrets.REDIS_PASSWORD,
      durable: true,
      signal: this.#interruption.signal,
      say: this.#say,
    });
    this.#keep('Redis', redis);
    return redis.url;
  }

  /** @param {NodeJS.ProcessEnv} env */
  async #migrate(env) {
    const { code, output } = await runCommand(process.execPath, [this.#entries.migrate, '--seed'], {
      cwd: projectFolder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: this.#interruption.signal,
    });
    this.#interruption.signal.throwIfAborted();
    if (code !== 0)
      throw new Refusal(output.trim() || `the migrations ended with exit code ${code}`);
  }

  /** @param {Home} home @param {NodeJS.ProcessEnv} env */
  async #startSandbox(home, env) {
    const sandbox = this.#spawn(
      home,
      'sandbox',
      [this.#entries.sandbox],
      env,
      SANDBOX_STOP_LIMIT_MS,
    );
    const url = reachedAt(env.SANDBOX_HOST, env.SANDBOX_PORT ?? '');
    await this.#answers(sandbox, `${url}/`, () => true);
  }

  /** @param {Home} home @param {NodeJS.ProcessEnv} env */
  async #startApp(home, env) {
    const app = this.#spawn(home, 'app', [...APP_FLAGS, this.#entries.app], env, APP_STOP_LIMIT_MS);
    const url = reachedAt(env.HOST, env.PORT ?? '');
    await this.#answers(app, `${url}/health/ready`, ({ ok }) => ok);
  }

  /**
   * @param {Home} home
   * @param {string} name
   * @param {string[]} args
   * @param {NodeJS.ProcessEnv} env
   * @param {number} stopLimitMs
   */
  #spawn(home, name, args, env, stopLimitMs) {
    const running = spawnService({
      name: `The ${name}`,
      command: process.execPath,
      args,
      cwd: projectFolder,
      logFile: home.path(`logs/${name}.log`),
      env,
    });
    this.#keep(`the ${name}`, {
      ...running,
      stop: async () => {
        const hurry = untilAborted(this.#interruption.hurry).then(() =>
          running.signal('SIGKILL', 0),
        );
        await Promise.race([running.signal('SIGTERM', stopLimitMs), hurry]);
        await running.signal('SIGKILL', 5_000);
      },
    });
    return running;
  }

  /**
   * From here on it is stopped in its turn, missed when it ends by itself, and written down.
   * @param {string} name
   * @param {{ pid: number, exited: Promise<string>, stop(): Promise<void>, output?: () => string }} service
   */
  #keep(name, { pid, exited, stop, output }) {
    // Stopped also where it cannot be written down, as on a full disk.
    this.#undo.push(stop);
    this.#losses.push(exited.then((how) => `${name} ${how}\n${output?.() ?? ''}`.trimEnd()));
    this.#processes?.add(name, pid);
  }

  /**
   * @param {Running} running
   * @param {string} url
   * @param {(answer: Response) => boolean} isReady
   */
  async #answers(running, url, isReady) {
    const { signal } = this.#interruption;
    const probe = async () => {
      const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      if (!isReady(answer)) throw new Error(`${url} answered ${answer.status}`);
    };
    await untilReady(running, probe, { signal });
    signal.throwIfAborted();
  }

  #outliveSurprises() {
    process.on('uncaughtException', (error) => {
      this.#fail(describeFailure(error));
      this.#interruption.end();
    });
    // The terminal may be gone by the time there is something to say.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  }

  async #stop() {
    for (const undo of this.#undo.reverse()) {
      try {
        await undo();
      } catch (error) {
        this.#fail(`While stopping: ${describeFailure(error)}`);
      }
    }
  }
}
