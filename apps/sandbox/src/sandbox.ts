import { type AddressInfo, isIPv6 } from 'node:net';
import { Agenda } from './agenda';
import { systemClock, type Clock } from './clock';
import type { SandboxConfig } from './config';
import { Disputes } from './disputes';
import { FaultBox } from './faults';
import { openJournal } from './journal';
import { Ledger } from './ledger';
import { Payments } from './payments';
import { Refunds } from './refunds';
import { buildServer } from './server';
import { WebhookOutbox } from './webhook-outbox';
import { WebhookPoster } from './webhook-post';
import { signingKey } from './webhook-signature';

const LOOPBACK = '127.0.0.1';
/** What listens everywhere, as in a container, is reached by the former. */
const EVERYWHERE = ['0.0.0.0', '::'];

/** Requests still being answered this long after the stop are cut off. */
const CLOSE_LIMIT_MS = 2000;

export interface Sandbox {
  readonly url: string;
  close(): Promise<void>;
}

export async function startSandbox(
  config: SandboxConfig,
  clock: Clock = systemClock,
): Promise<Sandbox> {
  const faults = new FaultBox();
  const agenda = new Agenda(clock);
  const key = signingKey(config.webhookSecret);
  const poster = new WebhookPoster();
  const outbox = new WebhookOutbox(poster, agenda, clock, faults, key, config.webhookUrl);
  const ledger = new Ledger(clock, outbox);
  const payments = new Payments(ledger, agenda, clock, faults);
  const refunds = new Refunds(ledger, agenda, clock, faults);
  const disputes = new Disputes(ledger, clock);
  let markRestored!: () => void;
  const restored = new Promise<void>((resolve) => {
    markRestored = resolve;
  });
  const app = buildServer({ ledger, payments, refunds, disputes, outbox, faults, clock, restored });

  // Listening comes first: a port that is taken must be found out before the data is touched,
  // because whoever has it may be another sandbox on the same folder.
  const host = config.host ?? LOOPBACK;
  await app.listen({ host, port: config.port });
  const { port } = app.server.address() as AddressInfo;
  const named = EVERYWHERE.includes(host) ? LOOPBACK : host;
  ledger.baseUrl = `http://${isIPv6(named) ? `[${named}]` : named}:${port}`;

  if (config.dataFolder !== null) {
    await restore(config.dataFolder, ledger, outbox).catch(async (error: unknown) => {
      app.server.closeAllConnections();
      await app.close();
      throw error;
    });
  }
  markRestored();
  payments.resume();
  refunds.resume();
  outbox.resume();

  const close = async (): Promise<void> => {
    agenda.stop();
    outbox.stop();
    const cutOff = setTimeout(() => app.server.closeAllConnections(), CLOSE_LIMIT_MS);
    await app.close().finally(() => clearTimeout(cutOff));
    await ledger.journal.close();
  };
  return { url: ledger.baseUrl, close };
}

async function restore(folder: string, ledger: Ledger, outbox: WebhookOutbox): Promise<void> {
  ledger.journal = await openJournal(
    folder,
    (record) => ledger.restore(record),
    () => ledger.snapshot(),
  );
  outbox.record = (records) => ledger.journal.append(records);
}
