// What the processes of one run are told: where they listen, where their stores are, what is kept for them.
import { choosePort } from './choose-port.mjs';
import { reachedAt } from './reached-at.mjs';
import { refuseHost } from './refuse-host.mjs';
import { usesSandbox } from './welcome.mjs';

/** @typedef {import('./home.mjs').Home} Home */
/** @typedef {import('./home.mjs').Settings} Settings */
/** @typedef {{ port: string, sandboxPort: string | null }} Addresses no port of a sandbox: none of our own */

/** What tokens have to be like: `lastcall token`, in another terminal, makes them so. */
const OF_TOKENS = ['AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_AUDIENCE', 'AUTH_MAX_AGE'];

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {(line: string) => void} say
 * @returns {Promise<Addresses>} ports that are free now
 */
export async function addressesOfRun(env, say) {
  const ownSandbox = usesSandbox(env) && !env.SANDBOX_URL;
  refuseHost('HOST', env.HOST);
  if (ownSandbox) refuseHost('SANDBOX_HOST', env.SANDBOX_HOST);
  const port = await choosePort(
    { setting: 'PORT', given: env.PORT, standard: 3000, taken: [Number(env.SANDBOX_PORT)] },
    say,
  );
  if (!ownSandbox) return { port, sandboxPort: null };
  const sandboxPort = await choosePort(
    {
      setting: 'SANDBOX_PORT',
      given: env.SANDBOX_PORT,
      standard: 3001,
      taken: [Number(port)],
    },
    say,
  );
  return { port, sandboxPort };
}

/**
 * `runtime` is what the CLI finds in the home; `childEnv` is what the app gets.
 * @param {{ env: NodeJS.ProcessEnv, addresses: Addresses, stores: Settings, secrets: Settings, home: Home }} run
 */
export function environmentOfApp({ env, addresses: { port, sandboxPort }, stores, secrets, home }) {
  /** @type {Settings} */
  const runtime = {
    ...stores,
    ...(env.DATABASE_SCHEMA ? { DATABASE_SCHEMA: env.DATABASE_SCHEMA } : {}),
    PORT: port,
    ...(env.HOST ? { HOST: env.HOST } : {}),
    ...(sandboxPort === null ? {} : { SANDBOX_URL: reachedAt(env.SANDBOX_HOST, sandboxPort) }),
    ...(env.SANDBOX_URL ? { SANDBOX_URL: env.SANDBOX_URL } : {}),
    ...Object.fromEntries(OF_TOKENS.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
  };
  // With DATABASE_URL set nobody reads the home: the app gets what is kept there from here.
  const childEnv = {
    ...(env.AUTH_JWKS_URL ? {} : { AUTH_JWT_SECRET: secrets.AUTH_JWT_SECRET }),
    HISTORY_SEAL_KEY: secrets.HISTORY_SEAL_KEY,
    SANDBOX_WEBHOOK_SECRET: secrets.SANDBOX_WEBHOOK_SECRET,
    SAMPLE_SHOP: 'on',
    ...env,
    ...runtime,
    LASTCALL_HOME: home.folder,
  };
  return { runtime, childEnv };
}

/**
 * @param {{ env: NodeJS.ProcessEnv, addresses: Addresses, secrets: Settings, home: Home }} run
 * @returns {NodeJS.ProcessEnv}
 */
export function environmentOfSandbox({ env, addresses: { port, sandboxPort }, secrets, home }) {
  return {
    ...env,
    SANDBOX_PORT: sandboxPort ?? undefined,
    SANDBOX_WEBHOOK_SECRET: env.SANDBOX_WEBHOOK_SECRET ?? secrets.SANDBOX_WEBHOOK_SECRET,
    SANDBOX_WEBHOOK_URL:
      env.SANDBOX_WEBHOOK_URL ?? `${reachedAt(env.HOST, port)}/v1/webhooks/sandbox`,
    SANDBOX_DATA: env.SANDBOX_DATA ?? home.path('sandbox'),
  };
}
