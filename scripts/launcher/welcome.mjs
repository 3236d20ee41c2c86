// What npm start says once everything runs.
import { commandOf, firstOrder } from './first-order.mjs';
import { reachedAt } from './reached-at.mjs';

/**
 * Where everything is, and what to do first.
 * @param {NodeJS.ProcessEnv} env
 * @param {import('./home.mjs').Home} home
 * @param {import('./home.mjs').Settings} runtime
 */
export async function welcome(env, home, runtime) {
  const apiUrl = reachedAt(env.HOST, runtime.PORT ?? '');
  const hasSandbox = usesSandbox(env);
  const whose = env.SANDBOX_URL ? 'by SANDBOX_URL, not started here' : 'the payment provider';
  /** @type {import('./first-order.mjs').Installation} */
  const installation = {
    apiUrl,
    sandboxUrl: hasSandbox ? (runtime.SANDBOX_URL ?? null) : null,
    homeName: env.LASTCALL_HOME ? home.displayName : null,
    isDatabaseGiven: env.DATABASE_URL !== undefined,
    tokenSource: env.AUTH_JWKS_URL ? 'issuer' : env.AUTH_JWT_SECRET ? 'given' : 'generated',
  };
  const lines = await firstOrder(installation);
  const lastcall = commandOf(installation);
  const hasDocs = env.DOCS !== 'off';
  const hasBoard = (env.TIMER_DRIVER ?? 'bullmq') === 'bullmq';
  const places = [
    ['API', apiUrl],
    ['Shop', env.SAMPLE_SHOP === 'off' ? undefined : `${apiUrl}/shop (order in a browser)`],
    ['Docs', hasDocs ? `${apiUrl}/docs` : undefined],
    [
      'Alarms',
      hasBoard ? `${apiUrl}/v1/ops/queues (any name; the password is a token)` : undefined,
    ],
    ['Sandbox', hasSandbox ? `${runtime.SANDBOX_URL} (${whose})` : undefined],
    ['Postgres', withoutPassword(runtime.DATABASE_URL)],
    ['Redis', withoutPassword(runtime.REDIS_URL)],
    ['Home', `${home.displayName} (data, logs/, secrets.json, runtime.json with the passwords)`],
  ];
  return [
    '',
    'lastcall is running. Ctrl-C stops it.',
    '',
    ...places.flatMap(([name, place]) => (place ? [`  ${name?.padEnd(10)}${place}`] : [])),
    '',
    'To look closer, in another terminal in this folder:',
    '',
    `  ${lastcall} doctor`,
    `  ${lastcall} console open`,
    ...(env.AUTH_JWKS_URL ? [] : [`  ${lastcall} token --sub me --scope ops:read`]),
    '',
    'A first order, to paste into another terminal in this folder:',
    '',
    ...lines.map((line) => `  ${line}`),
    '',
  ].join('\n');
}

/** As libs/orders/src/config.ts reads it. @param {NodeJS.ProcessEnv} env */
export function usesSandbox(env) {
  const names = env.PAYMENT_PROVIDERS || env.PAYMENT_PROVIDER || 'sandbox';
  return names.split(',').some((name) => name.trim() === 'sandbox');
}

/** @param {string | undefined} address */
function withoutPassword(address) {
  if (!address || !URL.canParse(address)) return address;
  const url = new URL(address);
  if (url.password) url.password = '***';
  return url.href;
}
