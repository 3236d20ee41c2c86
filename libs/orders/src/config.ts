import { defaultTimerDriver } from '@app/timeout';
import type { z } from 'zod';
import { HomeError, homeFolder, writtenSettings, isWritten, lookedAt } from './home';
import { printableLine, printableText } from './order/plain-text';
import { shortened } from './order/shortened';
import {
  armingRules,
  providerRules,
  rules,
  serverRules,
  timerNeeds,
  toldRules,
} from './settings/rules';
import type { Config } from './settings/schema';

/** What keys in Redis, and queues of brokers, begin with where nobody says otherwise. */
export const REDIS_PREFIX = 'lc';

export { type Config, SETTING_NAMES, SETTINGS, type Settings, settingsOf } from './settings/schema';
export { isProviderName, type ProviderName } from './settings/setting-kinds';

/** A setting is wrong. The message names each one, what is wrong with it and what it may be. */
export class ConfigError extends Error {
  readonly code = 'invalid_settings';

  constructor(message: string, options?: ErrorOptions) {
    // What is quoted goes to a terminal as it is.
    super(printableText(message), options);
  }
}

/**
 * Reads and validates the settings. What `npm start` wrote into `LASTCALL_HOME` (secrets.json,
 * runtime.json) fills in for names the environment does not set, unless the environment says by
 * `DATABASE_URL` that another installation is meant.
 * @throws {ConfigError} naming every setting, or the file, that is wrong
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  return load(serverRules, env);
}

/**
 * As {@link loadConfig}, for a process that serves nobody (a command, a host with its own auth): how
 * callers are known is not demanded.
 */
export function loadConfigWithoutAuth(env: NodeJS.ProcessEnv = process.env): Config {
  return load(armingRules(providerRules(rules)), env);
}

/** What migrating goes by. */
const MIGRATES_BY = ['DATABASE_URL', 'DATABASE_SCHEMA', 'DATABASE_ROLE'] as const;

/**
 * As {@link loadConfig}, for migrating alone: a job of a deployment needs no secret of those that serve, and no other
 * setting is looked at.
 */
export function loadMigrationTarget(
  env: NodeJS.ProcessEnv = process.env,
): Pick<Config, 'DATABASE_URL' | 'DATABASE_SCHEMA' | 'DATABASE_ROLE'> {
  const given = Object.fromEntries(MIGRATES_BY.map((name) => [name, env[name]]));
  return load(rules, { ...given, LASTCALL_HOME: env.LASTCALL_HOME });
}

/** The settings of a host that brings its own providers, and its auth: nothing is read from elsewhere. */
export function hostConfig(settings: Readonly<Record<string, string | undefined>>): Config {
  return load(armingRules(rules), { ...settings });
}

/** What a command is about to do; it needs no secret for anything else. */
export type Purpose = 'look' | 'change' | 'ask-providers';

/**
 * As {@link loadConfigWithoutAuth}, for a command, which demands what its purpose needs: to look,
 * neither the secrets of providers nor the store of the alarms (which then are not seen); to change
 * something, that store; to ask a provider, everything.
 * @param told what the running processes say they run with, which counts before `env`; they alone
 *   may name providers of a host's own
 */
export function loadConfigFor(
  purpose: Purpose,
  env: NodeJS.ProcessEnv = process.env,
  told?: Readonly<Partial<Record<string, string>>>,
): Config {
  const all = told ? { ...env, PAYMENT_PROVIDER: '', ...told } : env;
  const demands = told?.PAYMENT_PROVIDERS ? toldRules : rules;
  if (purpose === 'look') return load(demands, all, { seesAlarms: false });
  return load(armingRules(purpose === 'change' ? demands : providerRules(demands)), all);
}

function load(
  demands: typeof rules,
  env: NodeJS.ProcessEnv,
  { seesAlarms = true }: { seesAlarms?: boolean } = {},
): Config {
  const home = homeFolder(env.LASTCALL_HOME);
  // What is empty, or undefined, is not said: it stands in place of nothing that is written.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value));
  const written = given.DATABASE_URL ? {} : writtenIn(home);
  if (given.AUTH_JWKS_URL ?? written.AUTH_JWKS_URL) delete written.AUTH_JWT_SECRET;
  // What runs takes the tokens of its issuer alone, whatever secret this shell has.
  if (written.AUTH_JWKS_URL) delete given.AUTH_JWT_SECRET;
  if (given.PAYMENT_PROVIDER) given.PAYMENT_PROVIDERS ??= given.PAYMENT_PROVIDER;
  splitExtension(given);
  given.TIMER_DRIVER ??= defaultTimerDriver({ ...written, ...given });
  // Alarms in the memory of nobody: they are not looked for, and none is armed.
  if (!seesAlarms && timerNeeds({ ...written, ...given }).length > 0) given.TIMER_DRIVER = 'memory';
  const result = demands.safeParse({ ...written, ...given, LASTCALL_HOME: home });
  if (result.success) return result.data;
  const complaints = result.error.issues.map(
    (issue) => `${issue.path.join('.')} ${phrase(issue, given, home)}`,
  );
  throw wrongSettings(complaints);
}

function wrongSettings(complaints: readonly string[]): ConfigError {
  const lines = new Set(complaints.map((complaint) => `  ${shortened(printableLine(complaint))}`));
  return new ConfigError(`These settings are wrong:\n${[...lines].join('\n')}`);
}

/**
 * `CUSTOMER_EXTENSION=2m x10` says both how long and how often.
 * @throws {ConfigError} where CUSTOMER_EXTENSIONS says another number
 */
function splitExtension(given: Record<string, string | undefined>): void {
  const [, byHowMuch, times] = /^(\S+) *x *(\d+)$/.exec(given.CUSTOMER_EXTENSION ?? '') ?? [];
  if (byHowMuch === undefined || times === undefined) return;
  const said = given.CUSTOMER_EXTENSIONS;
  if (said !== undefined && said !== times) {
    throw wrongSettings([
      `CUSTOMER_EXTENSION says x${times} and CUSTOMER_EXTENSIONS ${said}: keep one of them`,
    ]);
  }
  Object.assign(given, { CUSTOMER_EXTENSION: byHowMuch, CUSTOMER_EXTENSIONS: times });
}

function writtenIn(home: string): Record<string, string> {
  try {
    return writtenSettings(home);
  } catch (cause) {
    if (cause instanceof HomeError) throw new ConfigError(cause.message, { cause });
    throw cause;
  }
}

function phrase(issue: z.core.$ZodIssue, given: NodeJS.ProcessEnv, home: string): string {
  const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  const isMissed = missing || issue.message.startsWith('is missing');
  if (isMissed && given.DATABASE_URL) {
    const what = missing ? 'is not set' : issue.message;
    if (!isWritten(issue.path.join('.'))) return what;
    return `${what}; with DATABASE_URL in the environment LASTCALL_HOME is not read`;
  }
  if (missing) {
    return `is not set, and no running installation was found (\`npm start\` in the project of lastcall starts one) in ${lookedAt(home)}`;
  }
  if (issue.code === 'invalid_value') return `must be one of: ${issue.values.join(', ')}`;
  return issue.code === 'invalid_union' ? phraseOfUnion(issue) : issue.message;
}

/** The rule of what it may be, and the words that stand for something else, as `off`. */
function phraseOfUnion({ message, errors }: z.core.$ZodIssueInvalidUnion): string {
  const inner = errors.flat();
  const rule = inner.find(({ code }) => code === 'custom' || code === 'invalid_format')?.message;
  const words = inner.flatMap((one) => (one.code === 'invalid_value' ? one.values : []));
  if (rule === undefined || words.length === 0) return message;
  const said = words.map((word) => `"${String(word)}"`).join(', ');
  return rule.includes(said) ? rule : rule.replace(/^must be /, `must be ${said}, or `);
}
