import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BundledInError } from './bundled-in.error';
import type { TimerDriverKind } from '../timer-driver-kind';

let known: Map<string, TimerDriverKind> | undefined;

/**
 * The kinds of drivers there are, by name: what each `<name>.timer.ts` in a folder below exports as
 * `timer`, so that a listing of these folders is the list of drivers; and what a host has added.
 */
export function timerDriverKinds(): ReadonlyMap<string, TimerDriverKind> {
  return (known ??= new Map(findKinds().map((kind) => [kind.name, kind])));
}

/** Adds a driver of the host's own; call it before settings are read. */
export function registerTimerDriver(kind: TimerDriverKind): void {
  if (timerDriverKinds().has(kind.name)) {
    throw new Error(`There is a timer driver "${kind.name}" already: choose another name`);
  }
  known?.set(kind.name, kind);
}

/** @throws {Error} naming those there are */
export function timerDriverKind(name: string): TimerDriverKind {
  const kinds = timerDriverKinds();
  const kind = kinds.get(name);
  if (kind) return kind;
  throw new Error(`No timer driver "${name}". There are: ${[...kinds.keys()].join(', ')}`);
}

/** The driver for whoever has chosen none: the first whose needs these settings meet. */
export function defaultTimerDriver(settings: Readonly<Record<string, unknown>>): string {
  const [first] = [...timerDriverKinds().values()]
    .filter(({ defaultRank }) => defaultRank !== undefined)
    .filter(({ needs }) => needs.every((name) => settings[name] !== undefined))
    .sort((a, b) => (a.defaultRank ?? 0) - (b.defaultRank ?? 0));
  return first?.name ?? 'memory';
}

/** @throws {BundledInError} */
function findKinds(): TimerDriverKind[] {
  const files = readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.timer\.[jt]s$/.test(path))
    .sort();
  if (files.length === 0)
    throw new BundledInError('@lastcall/timeout', `*.timer.js in ${__dirname}`);
  return files.map((path) => load(join(__dirname, path)).timer);
}

const load = (path: string): { readonly timer: TimerDriverKind } =>
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- which files there are is known at run time
  require(path) as { timer: TimerDriverKind };
