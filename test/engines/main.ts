// npm run test:engines: programs of others judge us. `--where-possible` passes without their tools,
// and says aloud what it did not check.
import type { Engine } from './engine';
import { stripeMock } from './stripe-mock';
import { timerDrivers } from './timer-driver';

const ENGINES: readonly Engine[] = [stripeMock, ...timerDrivers];
const WHERE_POSSIBLE = '--where-possible';

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.filter((arg) => arg !== WHERE_POSSIBLE);
  if (unknown.length > 0) {
    console.error(`There is no option ${unknown.join(', ')}; there is ${WHERE_POSSIBLE}`);
    return 2;
  }
  let code = 0;
  for (const engine of ENGINES) {
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
