/*
 * The API's own entry point, in a process that dies at a step: it kills itself (SIGKILL, as a
 * crash would) the first time it comes to the failpoint named by FAILPOINT, or the third time for
 * FAILPOINT=name@3. A parent with a channel may name another later, and hears when it is armed.
 * For tests that look at what a crash leaves behind; test/support/installation.ts starts it.
 */
import { onFailpoint } from '@app/timeout';
import '../../apps/api/src/main';

let wanted = '';
let left = 0;
arm(process.env.FAILPOINT ?? '');

function arm(text: string): void {
  const [name = '', nth = '1'] = text.split('@');
  wanted = name;
  left = Number(nth);
}

// The entry point has only begun to start by now: nothing has come to a failpoint yet.
onFailpoint((name) => {
  if (name !== wanted || --left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal may take a moment to arrive: nothing more happens until it does.
  return new Promise<void>(() => undefined);
});

process.on('message', (text) => {
  arm(String(text));
  process.send?.('armed');
});
