// One process of a race: told by its parent what to be, it says when it is ready and when it is done.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LastcallError, ReceiveWebhook } from '@app/orders';
import { type Lock, NoopLock, RedlockLock } from '@app/timeout';
import { openWorld, type World } from '../support/world';

export type LockMode = 'on' | 'no-op' | '1 ms';

export interface RaceOrder {
  readonly role: 'closer' | 'callback';
  readonly lock: LockMode;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly sandboxUrl: string;
  readonly webhookSecret: string;
}

/** What a racer tells its parent; `url` is where a callback takes webhooks. */
export type RacerSays =
  { readonly ready: { readonly url?: string } } | { readonly done: { readonly errors: string[] } };

let stop: (() => Promise<string[]>) | undefined;

process.on('message', (message: RaceOrder | 'stop') => {
  void obey(message).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});

async function obey(message: RaceOrder | 'stop'): Promise<void> {
  if (message === 'stop') return say({ done: { errors: (await stop?.()) ?? [] } });
  const world = await openWorld({
    databaseUrl: message.databaseUrl,
    configuredProvider: true,
    lock: lockFor(message),
    settings: {
      SANDBOX_URL: message.sandboxUrl,
      SANDBOX_WEBHOOK_SECRET: message.webhookSecret,
      REDIS_URL: message.redisUrl,
    },
  });
  if (message.role === 'closer') keepSweeping(world);
  else await takeWebhooks(world);
}

function lockFor({ lock, redisUrl }: RaceOrder): Lock {
  if (lock === 'no-op') return new NoopLock();
  // A Redis that a busy machine makes slow is gone on without, as it should be.
  const onError = (): void => undefined;
  return new RedlockLock({
    redis: redisUrl,
    onError,
    ...(lock === '1 ms' ? { ttlMs: 1, extendForMs: 0 } : {}),
  });
}

function keepSweeping(world: World): void {
  const errors: string[] = [];
  let isOn = true;
  const sweeping = (async () => {
    while (isOn) await world.timeouts.runSweep().catch((error) => errors.push(String(error)));
  })();
  stop = async () => {
    isOn = false;
    await sweeping;
    await world.close();
    return errors;
  };
  say({ ready: {} });
}

async function takeWebhooks(world: World): Promise<void> {
  const receiving = world.get(ReceiveWebhook);
  const errors: string[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      receiving.receive('sandbox', Buffer.concat(chunks), request.headers).then(
        () => response.writeHead(200).end(),
        (error: unknown) => {
          const isBusy = error instanceof LastcallError && error.code === 'busy';
          if (!isBusy) errors.push(String(error));
          response.writeHead(isBusy ? 503 : 500).end(String(error));
        },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stop = async () => {
    server.closeAllConnections();
    server.close();
    await world.close();
    return errors;
  };
  say({ ready: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` } });
}

function say(what: RacerSays): void {
  process.send?.(what);
}
