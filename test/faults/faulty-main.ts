/*
 * The API's own entry point, sabotaged as the environment says: see sabotage.ts, and FAILPOINT in
 * test/support/failing-main.ts. FREEZE_AT=name stops (SIGSTOP) the process the first time it
 * comes to that step; SIGCONT lets it go on from there.
 */
import './sabotage';
import '../support/failing-main';
import { onFailpoint } from '@app/timeout';

let wanted = process.env.FREEZE_AT;

if (wanted) {
  onFailpoint((name) => {
    if (name !== wanted) return;
    wanted = undefined;
    process.kill(process.pid, 'SIGSTOP');
  });
}
