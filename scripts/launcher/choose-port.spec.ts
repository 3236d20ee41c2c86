import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FIRST_FOR_ALL = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
const NOBODY = 65_534;

/** Where there is a port that is root's alone, as on Linux outside of most containers. */
const privileged = (): number | undefined => {
  if (process.platform !== 'linux') return undefined;
  const first = Number(readFileSync(FIRST_FOR_ALL, 'utf8'));
  return first > 1 ? first - 1 : undefined;
};
const port = privileged();
const withPrivileges = port === undefined ? it.skip : it;

/** What the launcher says of a port that was asked for, to a user who is not root. */
function saidOf(given: string): string {
  const script = `
    import { choosePort } from ${JSON.stringify(join(__dirname, 'choose-port.mjs'))};
    if (process.getuid() === 0) process.setuid(${NOBODY});
    const wish = { setting: 'PORT', given: '${given}', standard: 3000, taken: [] };
    await choosePort(wish, () => undefined).catch(({ message }) => console.log(message));`;
  const how = { encoding: 'utf8' as const };
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], how);
  return stdout.trim();
}

withPrivileges(
  'says of a port that this user may not listen on that it is so, and not taken',
  () => {
    expect(saidOf(String(port))).toBe(
      `PORT=${port} is one that this user may not listen on: set another port`,
    );
  },
);
