import { sqlStateOf } from '@app/timeout';
import type { Queryable } from '../order/order-rows';
import { SHARED_NAMES, type SharedName, type SharedSettings } from './shared-settings';

export const TELL_EVERY_MS = 10_000;
/** As SQL. Rows of processes that ended without a goodbye are cleared away. */
export const FORGOTTEN_AFTER = "interval '1 day'";
const SILENT_AFTER_MS = 3 * TELL_EVERY_MS;
/** A database that is not migrated to this version has no such table. */
const UNDEFINED_TABLE = '42P01';

/** A process as it last told of itself. */
export interface ProcessView {
  readonly host: string;
  readonly pid: number;
  readonly settings: SharedSettings;
  readonly silentForMs: number;
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
  /** Those of the process seen last. */
  readonly settings: SharedSettings;
  readonly differences: readonly SettingDifference[];
}

/** @param here what the asking process was told by its own environment */
export async function readRunningSettings(
  sql: Queryable,
  here: SharedSettings,
): Promise<RunningSettings> {
  const all = await listProcesses(sql);
  const alive = all.filter(({ silentForMs }) => silentForMs <= SILENT_AFTER_MS);
  const processes = alive.length > 0 ? alive : all.slice(0, 1);
  const settings = knownOf(processes[0]?.settings ?? {});
  const told = processes.map(({ host, pid, settings: theirs }) => ({
    where: `${host}:${pid}`,
    settings: theirs,
  }));
  const differences =
    told.length > 0 ? differencesOf([...told, { where: 'here', settings: here }]) : [];
  return { processes, isAlive: alive.length > 0, settings, differences };
}

async function listProcesses(sql: Queryable): Promise<ProcessView[]> {
  try {
    return await sql.rows<ProcessView>(
      `SELECT host, pid, settings,
              greatest(0, extract(epoch FROM now() - seen_at) * 1000)::float8 AS "silentForMs"
         FROM processes WHERE seen_at >= now() - ${FORGOTTEN_AFTER} ORDER BY seen_at DESC`,
    );
  } catch (error) {
    if (sqlStateOf(error) === UNDEFINED_TABLE) return [];
    throw error;
  }
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
