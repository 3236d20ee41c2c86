import {
  type Config,
  connectWithin,
  createDataSource,
  differenceText,
  leadsToDeadlinesAlone,
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
import { deadlinesAlone, type Refuse, refuseHostsProviders } from './refuse-beside-host';

/** A server that is only busy lets an operator in late: no customer waits for a command. */
const CONNECT_LIMIT_MS = 10_000;

export interface EffectiveSettings {
  readonly config: Config;
  readonly running: RunningSettings;
}

/**
 * The environment's settings, and over them what the running processes say they run with: a command
 * that guessed the granularity of the alarms would take the right ones for wrong.
 * @param refuse beside whom the command is not run
 * @throws {CommandFailure} deadlines_alone: there are no orders
 */
export async function effectiveSettings(
  purpose: Purpose,
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
  refuse?: Refuse,
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
    refuse?.(running);
    if (Object.keys(settings).length === 0) {
      if (await leadsToDeadlinesAlone(dataSource)) throw deadlinesAlone();
      return { config: loadConfigFor(purpose, env), running };
    }
    if (purpose === 'ask-providers') refuseHostsProviders(running);
    return { config: loadConfigFor(purpose, env, settings), running };
  } finally {
    await dataSource.destroy();
  }
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
