import { type ChildProcess, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { join } from 'node:path';

const REGISTER = join(__dirname, '../../../test/support/swc-register.cjs');
const PROGRAM = `
  const { interruption } = require(${JSON.stringify(join(__dirname, 'interruption.ts'))});
  let nowMs = 5_000;
  process.on('message', (ms) => process.send('it is ' + (nowMs = ms)));
  const signal = interruption(() => process.send('told'), () => nowMs);
  // What listens behind it hears a signal that has not ended the process.
  process.on('SIGINT', () => process.send('goes on, aborted: ' + signal.aborted));
  process.send('up');`;

describe('a command that is interrupted', () => {
  let command: ChildProcess;
  let messages: ReturnType<typeof on>;
  const said = async (): Promise<unknown> => ((await messages.next()).value as unknown[])[0];

  beforeEach(async () => {
    command = spawn(process.execPath, ['-r', REGISTER, '-e', PROGRAM], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    messages = on(command, 'message');
    expect(await said()).toBe('up');
    command.kill('SIGINT');
    expect(await said()).toBe('told');
    expect(await said()).toBe('goes on, aborted: true');
  });
  afterEach(() => void command.kill('SIGKILL'));

  it('takes what npm passes on of the same Ctrl-C for no second one', async () => {
    command.kill('SIGINT');
    expect(await Promise.race([said(), once(command, 'exit')])).toBe('goes on, aborted: true');
  });

  it('ends at once by a second one', async () => {
    command.send(6_001);
    expect(await said()).toBe('it is 6001');
    command.kill('SIGINT');
    expect(await once(command, 'exit')).toEqual([130, null]);
  });
});
