import { sqlStateOf } from '@app/timeout';
import { isProviderName } from '../config';
import type { Queryable } from '../order/order-rows';
import { SHARED_NAMES, type SharedName, type SharedSettings } from './shared-settings';

export const TELL_EVERY_MS = 10_000;
const FORGOTTEN_AFTER_MS = 86_400_000;
/** As SQL. Rows of processes that ended are cleared away by one that tells of itself that much later. */
export const FORGOTTEN_AFTER = `interval '${FORGOTTEN_AFTER_MS} milliseconds'`;
const SILENT_AFTER_MS = 3 * TELL_EVERY_MS;
/** Beside the settings, in a process of a host: the providers it brings itself. No setting has that name. */
export const HOSTS_PROVIDERS_AS = 'HOSTS_PROVIDERS';
/** Likewise, what marks the Redis that the process uses: {@link RedisMark}. */
export const REDIS_MARK_AS = 'REDIS_MARK';
/** A database that is not migrated to this version has no such table. */
const UNDEFINED_TABLE = '42P01';

/** A process as it last told of itself. */
export interface ProcessView {
  readonly host: string;
  readonly pid: number;
  readonly settings: SharedSettings;
  readonly silentForMs: number;
  /** Null: its Redis is away, it uses none, or it is one of a version that did not say so. */
  readonly redisMark: string | null;
}

interface ProcessRow extends ProcessView {
  /** Null where it cannot say: one of the version before, or one that does not work and has none. */
  readonly hasHooks: boolean | null;
  readonly hasLeft: boolean;
  /** Null: it brings none, or is one of a version that did not say so. */
  readonly hostsProviders: string | null;
}

/** What only the processes of a host have, as it is in the host's code. */
export interface HostCode {
  /** Hooks, or a stock: they hear of each change of an order. */
  readonly hasHooks: boolean;
  /** Names of the payment providers that it brings itself, also where they are names of ours. */
  readonly providers: readonly string[];
}

export interface SettingDifference {
  readonly name: SharedName;
  /** Who has which value: `host:pid`, or `here` for who asks. */
  readonly values: readonly { readonly where: string; readonly value: string }[];
}

/** What an installation runs with, for those who look at it from outside. */
export interface RunningSettings {
  /** Alive, or, when none is, the one that was seen last; none when all said goodbye. */
  readonly processes: readonly ProcessView[];
  readonly isAlive: boolean;
  /** Those of the process seen last; when all said goodbye, the providers alone, if the host has its own. */
  readonly settings: SharedSettings;
  /**
   * Providers by all that are alive, or else by the one seen last: no goodbye ends that. Hooks by those that
   * are alive and work; where there is none, by all that are known.
   */
  readonly host: HostCode;
  /** Those that are alive and have hooks or a stock, whether they work or not. */
  readonly withHooks: readonly ProcessView[];
  /** Those that are alive and have a provider of the host's own, by its name, whether they work or not. */
  readonly withProvider: Readonly<Record<string, readonly ProcessView[]>>;
  readonly differences: readonly SettingDifference[];
}

/** @param here what the asking process was told by its own environment */
export async function readRunningSettings(
  sql: Queryable,
  here: SharedSettings,
): Promise<RunningSettings> {
  const all = await listProcesses(sql);
  const remembered = all.filter(
    ({ hasLeft, silentForMs }) => !hasLeft && silentForMs <= FORGOTTEN_AFTER_MS,
  );
  const alive = remembered.filter(({ silentForMs }) => silentForMs <= SILENT_AFTER_MS);
  const processes = alive.length > 0 ? alive : remembered.slice(0, 1);
  const host = {
    hasHooks: (alive.some(tellsOfHooks) ? alive : all).some(({ hasHooks }) => hasHooks),
    providers: [...new Set((alive.length > 0 ? alive : all.slice(0, 1)).flatMap(ownProviders))],
  };
  const settings = processes[0] ? knownOf(processes[0].settings) : ofGone(host, all);
  const told = processes.map(({ host: machine, pid, settings: theirs }) => ({
    where: `${machine}:${pid}`,
    settings: theirs,
  }));
  const differences =
    told.length > 0 ? differencesOf([...told, { where: 'here', settings: here }]) : [];
  return {
    ...{ processes, isAlive: alive.length > 0, settings, host, differences },
    withHooks: alive.filter(({ hasHooks }) => hasHooks),
    withProvider: Object.fromEntries(
      host.providers.map((name) => [name, alive.filter((one) => ownProviders(one).includes(name))]),
    ),
  };
}

/** Seen last first. A table of the version before tells nothing of hooks and goodbyes. */
async function listProcesses(sql: Queryable): Promise<ProcessRow[]> {
  try {
    return await sql.rows<ProcessRow>(
      `SELECT host, pid, settings,
              (to_jsonb(p) ->> 'has_hooks')::boolean AS "hasHooks",
              to_jsonb(p) ->> 'left_at' IS NOT NULL AS "hasLeft",
              settings ->> '${HOSTS_PROVIDERS_AS}' AS "hostsProviders",
              settings ->> '${REDIS_MARK_AS}' AS "redisMark",
              greatest(0, extract(epoch FROM now() - seen_at) * 1000)::float8 AS "silentForMs"
         FROM processes p ORDER BY seen_at DESC`,
    );
  } catch (error) {
    if (sqlStateOf(error) === UNDEFINED_TABLE) return [];
    throw error;
  }
}

const tellsOfHooks = ({ hasHooks }: ProcessRow): boolean => hasHooks !== null;

const ownProviders = ({ settings, hostsProviders }: ProcessRow): string[] =>
  hostsProviders?.split(',') ??
  (settings.PAYMENT_PROVIDERS?.split(',') ?? []).filter((name) => !isProviderName(name));

/** An environment has the other settings, and can name no provider of a host's own. */
function ofGone({ providers }: HostCode, [last]: readonly ProcessRow[]): SharedSettings {
  const told = last?.settings.PAYMENT_PROVIDERS;
  return providers.length > 0 && told ? { PAYMENT_PROVIDERS: told } : {};
}

/** Another version may tell of more than this one knows. */
function knownOf(settings: SharedSettings): SharedSettings {
  const known = SHARED_NAMES.filter((name) => typeof settings[name] === 'string');
  return Object.fromEntries(known.map((name) => [name, settings[name]]));
}

function differencesOf(
  told: readonly { readonly where: string; readonly settings: SharedSettings }[],
): SettingDifference[] {
  return SHARED_NAMES.map((name) => ({
    name,
    values: told.flatMap(({ where, settings }) => {
      const value = settings[name];
      return value === undefined ? [] : [{ where, value }];
    }),
  })).filter(({ values }) => new Set(values.map(({ value }) => value)).size > 1);
}

/** `TIMER_GRANULARITY is 5s at a:7, 100ms here`. */
export function differenceText({ name, values }: SettingDifference): string {
  const parts = values.map(({ where, value }) =>
    where === 'here' ? `${value} here` : `${value} at ${where}`,
  );
  return `${name} is ${parts.join(', ')}`;
}
