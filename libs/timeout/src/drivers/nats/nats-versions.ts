import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as jetstream from '@nats-io/jetstream';

const CLIENT = '@nats-io/jetstream';
const OLDEST_CLIENT = '3.2';
/** The first server that schedules messages. */
const OLDEST_SERVER = [2, 12] as const;

/** An older client publishes an alarm without its schedule, as a message that nobody reads, and says nothing. */
class OldNatsClientError extends Error {
  readonly code = 'old_nats_client';

  constructor(installed: string) {
    super(
      `The timer driver nats needs ${CLIENT} ${OLDEST_CLIENT} or newer of 3; ${installed} is installed, ` +
        `which schedules nothing: npm install ${CLIENT}@3 @nats-io/transport-node@3`,
    );
    this.name = 'OldNatsClientError';
  }
}

/**
 * By what the client knows, as its version is told by its files alone, which a bundle does not have.
 * @throws {OldNatsClientError}
 */
export function refuseOldNatsClient(
  { PubHeaders: headers = {} }: { readonly PubHeaders?: object } = jetstream,
  entry: () => string = () => require.resolve(CLIENT),
): void {
  if (!('Schedule' in headers)) throw new OldNatsClientError(installedVersion(entry));
}

function installedVersion(entry: () => string): string {
  try {
    return versionAbove(dirname(entry())) ?? 'an older one';
  } catch {
    return 'an older one';
  }
}

/** Its `exports` let nobody ask for its package.json by name. */
function versionAbove(folder: string): string | undefined {
  const about = readAbout(join(folder, 'package.json'));
  if (about?.name === CLIENT) return about.version;
  const parent = dirname(folder);
  return parent === folder ? undefined : versionAbove(parent);
}

function readAbout(file: string): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
  } catch {
    return undefined;
  }
}

/** An older server keeps a schedule as a message, and does not heed it. */
export function serverSchedules(version = ''): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [atLeast, andMinor] = OLDEST_SERVER;
  return major > atLeast || (major === atLeast && minor >= andMinor);
}

export const MEND_SERVER = 'run nats-server 2.12 or newer: older ones schedule no messages';
export const MEND_STREAM =
  'nats stream edit it with --allow-schedules, or delete it: the driver makes it anew';
