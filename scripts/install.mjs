// Installs the packages unless they are there already: what `npm start` and `npm test` do first.
import { runScript } from './run-script.mjs';
import { ensureInstalled } from './set-up.mjs';

await runScript(async (script) => {
  await ensureInstalled(script);
  return 0;
});
