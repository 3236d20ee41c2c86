import { readConfig } from './config';
import { startSandbox } from './sandbox';
import { startUpWords } from './start-up-words';

async function main(): Promise<void> {
  const sandbox = await startSandbox(readConfig(process.env));
  console.log(`sandbox listening on ${sandbox.url}`);

  const stop = (): void => {
    sandbox.close().then(() => process.exit(0), fail);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

function fail(error: unknown): void {
  const words = startUpWords(error);
  console.error(words === undefined ? error : `sandbox: ${words}`);
  process.exit(1);
}

main().catch(fail);
