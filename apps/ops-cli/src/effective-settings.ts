import {
  type Config,
  connectWithin,
  createDataSource,
  differenceText,
  loadConfigFor,
  onDataSource,
  type Purpose,
  readRunningSettings,
  type RunningSettings,
  settingsOf,
  SHARED_NAMES,
  sharedSettings,
  type SharedSettings,
} from '@app/orders/look';
import { CommandFailure } from './command-failure';
import { EXIT } from './exit-code';

/** A server that is only busy lets an operator in late: no customer waits for a command. */
const CONNECT_LIMIT_MS = 10_000;

export interface EffectiveSettings {
  readonly config: Config;
  readonly running: RunningSettings;
}

/**
 * The environment's settings, and over them what the running processes say they run with: a command
 * that guessed the granularity of the alarms would take the right ones for wrong.
 */
export async function effectiveSettings(
  purpose: Purpose,
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
): Promise<EffectiveSettings> {
  connectWithin(CONNECT_LIMIT_MS);
  // Which providers there are, and so which secrets are needed, is told by the processes.
  const own = loadConfigFor(purpose === 'look' ? 'look' : 'change', env);
  const dataSource = createDataSource(own, 'lastcall settings', 1);
  await dataSource.initialize();
  try {
    const running = await readRunningSettings(onDataSource(dataSource), toldHere(own, env));
    for (const difference of running.differences) {
      note(`warning: ${differenceText(difference)}; what the process seen last runs with counts`);
    }
    const { settings } = running;
    if (Object.keys(settings).length === 0) return { config: loadConfigFor(purpose, env), running };
    if (purpose === 'ask-providers') refuseHostsProviders(running);
    return { config: loadConfigFor(purpose, env, settings), running };
  } finally {
    await dataSource.destroy();
  }
}

/** @throws {CommandFailure} provider_elsewhere: what would be asked is in the host's code */
function refuseHostsProviders({ host: { providers } }: RunningSettings): void {
  if (providers.length === 0) return;
  throw new CommandFailure({
    code: 'provider_elsewhere',
    exitCode: EXIT.refused,
    what: `This command asks the payment providers, and cannot ask ${providers.join(', ')}`,
    why: 'what the host brings itself, only its processes have',
    next: 'they sweep by themselves; to reconcile, one of them calls Reconcile of @lastcall/orders',
    fields: { providers },
  });
}

/**
 * Before something that would change orders in bulk, which the host's hooks have to hear of.
 * @throws {CommandFailure} hooks_elsewhere
 */
export function refuseBesideHooks({ host }: RunningSettings): void {
  if (!host.hasHooks) return;
  throw new CommandFailure({
    code: 'hooks_elsewhere',
    exitCode: EXIT.refused,
    what: "This command changes orders, and cannot call the host's hooks or its own stock",
    why: 'what the host brings itself, only its processes have',
    next: 'start a worker of the host: it sweeps by itself; to reconcile, one of them calls Reconcile of @lastcall/orders',
  });
}

/** Defaults are no opinion: what nobody has set here differs from nothing. */
function toldHere(own: Config, env: NodeJS.ProcessEnv): SharedSettings {
  const all = sharedSettings(settingsOf(own));
  const told = SHARED_NAMES.filter((name) => env[name]);
  return Object.fromEntries(told.map((name) => [name, all[name]]));
}

/**
 * Before something is mended by comparing it with the settings: whose would be right?
 * @throws {CommandFailure} settings_differ
 */
export function refuseDifferences({ differences }: RunningSettings): void {
  if (differences.length === 0) return;
  throw new CommandFailure({
    code: 'settings_differ',
    exitCode: EXIT.refused,
    what: 'Nothing was mended: the settings differ, and what is right by one is wrong by another',
    why: differences.map(differenceText).join('; '),
    next: 'run all processes with the same settings, and leave them out here; lastcall doctor compares',
    fields: { differences },
  });
}
