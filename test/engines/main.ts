// npm run test:engines [-- --where-possible] [-- NAME ...]: programs of others judge us, or those that
// are named. `--where-possible` passes without their tools. Both say aloud what was not checked.
import { composeGo } from './compose-go';
import type { Engine } from './engine';
import { oldest } from './oldest';
import { pgbouncer } from './pgbouncer';
import { pgDump } from './pg-dump';
import { stripeMock } from './stripe-mock';
import { timerDrivers } from './timer-driver';

const ENGINES: readonly Engine[] = [
  ...[stripeMock, composeGo, pgDump, pgbouncer, oldest],
  ...timerDrivers,
];
const WHERE_POSSIBLE = '--where-possible';

async function main(args: readonly string[]): Promise<number> {
  const named = args.filter((arg) => arg !== WHERE_POSSIBLE);
  const names = ENGINES.map(({ name }) => name);
  const unknown = named.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const there = [WHERE_POSSIBLE, ...names].join(', ');
    console.error(`There is no ${unknown.join(', ')}; there are ${there}`);
    return 2;
  }
  let code = 0;
  for (const engine of ENGINES) {
    if (named.length > 0 && !named.includes(engine.name)) {
      console.error(`NOT CHECKED: ${engine.judges}. ${engine.name} was not named`);
      continue;
    }
    const missing = engine.missing();
    if (missing !== undefined) {
      console.error(`NOT CHECKED: ${engine.judges}. ${engine.name}: ${missing}`);
      if (!args.includes(WHERE_POSSIBLE)) code = 1;
      continue;
    }
    try {
      console.log(`${engine.name}: ${await engine.judge()}`);
    } catch (error) {
      console.error(`${engine.name}: ${error instanceof Error ? error.message : String(error)}`);
      code = 1;
    }
  }
  return code;
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
