/*
 * The API's own entry point, in a process that dies at a step: FAILPOINT=name kills it (SIGKILL,
 * as a crash would) the first time it comes there, FAILPOINT=name@3 the third time. For tests that
 * look at what a crash leaves behind; test/support/installation.ts starts it.
 */
import { onFailpoint } from '@app/timeout';
import '../../apps/api/src/main';

const [wanted, nth = '1'] = (process.env.FAILPOINT ?? '').split('@');
let left = Number(nth);

// The entry point has only begun to start by now: nothing has come to a failpoint yet.
onFailpoint((name) => {
  if (name !== wanted || --left > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal may take a moment to arrive: nothing more happens until it does.
  return new Promise<void>(() => undefined);
});
