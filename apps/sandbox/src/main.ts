import { ConfigError, readConfig } from './config';
import { startSandbox } from './sandbox';

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
  const clash = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  if (error instanceof ConfigError) console.error(`sandbox: ${error.message}`);
  else if (clash) console.error('sandbox: SANDBOX_PORT is taken by another process');
  else console.error(error);
  process.exit(1);
}

main().catch(fail);
