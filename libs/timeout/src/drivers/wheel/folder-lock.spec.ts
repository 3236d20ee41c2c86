import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Wanted } from '../../testing/folder-contender';
import { lockFolder } from './folder-lock';

const TIMES = 60;
const REGISTER = join(__dirname, '../../../../../test/support/swc-register.cjs');
/** Beyond what Linux gives to a process. */
const NOBODYS_PID = 2 ** 22 + 1;

describe('a folder that two processes want at the same moment', () => {
  let root: string;
  let contenders: readonly ChildProcess[] = [];
  const heard = async (from: ChildProcess): Promise<string> => {
    const [said] = (await once(from, 'message')) as [string];
    return said;
  };
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'lastcall-folder-'));
    const start = (): ChildProcess =>
      fork(join(__dirname, '../../testing/folder-contender.ts'), {
        execArgv: ['-r', REGISTER, '--no-warnings'],
      });
    contenders = [start(), start()];
    await Promise.all(contenders.map(heard));
  });
  afterAll(() => {
    for (const one of contenders) one.kill('SIGKILL');
    rmSync(root, { recursive: true, force: true });
  });

  it.each([
    ['is free', undefined],
    ['is of one that was killed', `${NOBODYS_PID}`],
    ['has an empty file of the owner, as a full disk leaves it', ''],
  ])('is for one of them where it %s', async (name, owner) => {
    for (let times = 0; times < TIMES; times++) {
      const folder = join(root, `${name} ${times}`);
      mkdirSync(folder);
      if (owner !== undefined) writeFileSync(join(folder, 'owner'), owner);
      const wanted: Wanted = { folder, fromMs: Date.now() + 5 };
      const answers = contenders.map(heard);
      for (const one of contenders) one.send(wanted);
      const said = (await Promise.all(answers)).sort();
      const [first = '', second] = said;
      expect(second).toBe('has it');
      const pid = readFileSync(join(folder, 'owner'), 'utf8');
      expect(first).toBe(
        `${folder} is used by process ${pid}: give each worker a TIMER_WHEEL_FOLDER of its own`,
      );
      expect(readdirSync(folder)).toEqual(['owner']);
    }
  });

  it('has nothing of ours left in it once it is given back', async () => {
    const folder = join(root, 'given back');
    const unlock = await lockFolder(folder);
    expect(readdirSync(folder)).toEqual(['owner']);
    await unlock();
    expect(readdirSync(folder)).toEqual([]);
  });
});
