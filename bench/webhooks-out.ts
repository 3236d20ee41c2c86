import { createServer, request } from 'node:http';
import { type AddressInfo } from 'node:net';
import { SignJWT } from 'jose';
import { cpuBetween, cpuMicrosEach, type CpuSeconds } from './cpu';
import { fillPendingOrders, fillProducts, settle } from './orders-table';
import { startLastcall } from './processes';
import { type BenchOptions, CPU_COLUMNS, cpuCells, type Question } from './question';
import { medianOf, percentile } from './statistics';
import { until } from './until';
import { createWorld, JWT_SECRET, type World } from './world';

const BACKLOG = 20_000;
const QUICK_BACKLOG = 500;
const A_SECOND = 200;
const SECONDS = 30;
const QUICK_SECONDS = 3;
/** As many as a worker has under way at one endpoint. */
const AT_ONCE = 16;
/** Until a worker has started and found its feet. */
const LEAD_S = 15;
const QUICK_LEAD_S = 8;
const HEARD_POLL_MS = 50;

interface Sent {
  readonly perSecond: number;
  readonly cpu: CpuSeconds;
  readonly count: number;
}

export const webhooksOut: Question = {
  name: 'webhooks-out',
  asks: "How many webhooks a second does a worker send to a shop's own system, and how late?",
  async answer(options) {
    const sent: Sent[] = [];
    const bare: Sent[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      sent.push(await sendBacklog(options));
      bare.push(await postBarely(options));
    }
    const late = await sendEvenly(options);
    const row = (name: string, all: readonly Sent[]) => {
      const [first] = all as [Sent, ...Sent[]];
      const perSecond = Math.round(medianOf(all, (one) => one.perSecond));
      return [name, first.count, perSecond, ...cpuCells(first.cpu, first.count)];
    };
    return {
      tables: [
        {
          title: 'Events that wait, sent by one worker to one endpoint that answers at once',
          columns: ['what', 'webhooks', 'a second', ...CPU_COLUMNS],
          rows: [
            row('webhooks', sent),
            row(
              `bare POSTs of the same size, ${AT_ONCE} at once, each on a connection of its own`,
              bare,
            ),
          ],
          note: 'Every one is written down by its event, claimed, signed, sent on a connection of its own and noted; counted from the first that is heard to the last.',
        },
        {
          title: `${A_SECOND} orders close a second`,
          columns: ['webhooks', 'p50, ms', 'p99, ms', 'latest, ms'],
          rows: [
            [
              late.lagsMs.length,
              ...[50, 99, 100].map((p) => Math.round(percentile(late.lagsMs, p))),
            ],
          ],
          note: 'From the instant that the event tells to the moment in which the shop has heard of it. Workers look for new events every half second.',
        },
      ],
      goals: [
        {
          text: 'each event heard once',
          met: late.repeated === 0,
          measured: `${late.repeated} of ${late.lagsMs.length} twice`,
        },
      ],
    };
  },
};

/** What has happened while no worker ran, sent by one that starts. */
async function sendBacklog(options: BenchOptions): Promise<Sent> {
  const count = options.quick ? QUICK_BACKLOG : BACKLOG;
  const world = await createWorld(options.servers);
  const shop = await listen();
  try {
    await addEndpoint(world, shop.url, 'order.placed');
    await fillProducts(world);
    await fillPendingOrders(world, { count, dueInS: 3_600 });
    await settle(world);
    const worker = await startSender(world);
    try {
      await shop.heard(1);
      const before = world.cpu([worker.pid]);
      await shop.heard(count);
      const cpu = cpuBetween(before, world.cpu([worker.pid]));
      await settledAtOnce(world, count);
      const perSecond = (1_000 * (count - 1)) / shop.spanMs();
      options.say(
        `webhooks-out: ${Math.round(perSecond)}/s, ${Math.round(cpuMicrosEach(cpu, count))} us each`,
      );
      return { perSecond, cpu, count };
    } finally {
      await worker.stop();
    }
  } finally {
    shop.close();
    await world.close();
  }
}

/** Orders that come due evenly: how long after it an event has been heard of. */
async function sendEvenly({ servers, quick }: BenchOptions) {
  const spreadS = quick ? QUICK_SECONDS : SECONDS;
  const count = A_SECOND * spreadS;
  const world = await createWorld(servers);
  const shop = await listen();
  try {
    await addEndpoint(world, shop.url, 'order.closed');
    await fillProducts(world);
    await fillPendingOrders(world, { count, dueInS: quick ? QUICK_LEAD_S : LEAD_S, spreadS });
    await settle(world);
    const worker = await startSender(world);
    try {
      await shop.heard(count);
      await settledAtOnce(world, count);
      return { lagsMs: shop.lagsMs(), repeated: shop.repeated() };
    } finally {
      await worker.stop();
    }
  } finally {
    shop.close();
    await world.close();
  }
}

/** Each is noted as delivered by its first attempt: nothing is left that would be sent once more. */
async function settledAtOnce(world: World, count: number): Promise<void> {
  await until('every webhook is settled', async () => {
    const [row] = await world.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM webhook_deliveries WHERE status = 'delivered' AND attempts = 1`,
    );
    return row?.n === count;
  });
}

/** What HTTP alone takes here and now, in this process. */
async function postBarely({ quick, servers }: BenchOptions): Promise<Sent> {
  const count = quick ? QUICK_BACKLOG : BACKLOG;
  const world = await createWorld(servers);
  const shop = await listen();
  try {
    const before = world.cpu([process.pid]);
    let left = count;
    const sendSome = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const data = { orderId: 'bare', version: left, about: 'x'.repeat(350) };
        const body = JSON.stringify({ timestamp: new Date().toISOString(), data });
        await post(shop.url, String(left), body);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
    const cpu = cpuBetween(before, world.cpu([process.pid]));
    return { perSecond: (1_000 * (count - 1)) / shop.spanMs(), cpu, count };
  } finally {
    shop.close();
    await world.close();
  }
}

const startSender = (world: World) =>
  startLastcall(world, { settings: { ROLES: 'worker', WEBHOOKS_ALLOW_PRIVATE: 'on' } });

async function addEndpoint(world: World, url: string, event: string): Promise<void> {
  const settings = { ROLES: 'api', WEBHOOKS_ALLOW_PRIVATE: 'on' };
  const api = await startLastcall(world, { settings });
  try {
    const token = await new SignJWT({ scope: 'ops' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('bench')
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(JWT_SECRET));
    const answer = await fetch(`${api.url}/v1/ops/webhook-endpoints`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url, events: [event], reason: 'it is measured' }),
    });
    if (answer.status !== 201) throw new Error(`No endpoint: ${await answer.text()}`);
  } finally {
    await api.stop();
  }
}

interface Told {
  readonly timestamp: string;
  readonly data: { readonly orderId: string; readonly version: number };
}

/** A shop's own system, that takes everything at once and remembers when. */
async function listen() {
  const lags = new Map<string, number>();
  let repeated = 0;
  const at = { firstMs: 0, lastMs: 0 };
  const server = createServer((asked, response) => {
    const chunks: Buffer[] = [];
    asked.on('data', (chunk: Buffer) => chunks.push(chunk));
    asked.on('end', () => {
      const nowMs = Date.now();
      response.writeHead(204).end();
      const { timestamp, data } = JSON.parse(Buffer.concat(chunks).toString()) as Told;
      // Not by its id: the same event written down twice has two.
      const event = `${data.orderId} ${data.version}`;
      if (lags.has(event)) repeated += 1;
      else lags.set(event, nowMs - Date.parse(timestamp));
      at.firstMs ||= nowMs;
      at.lastMs = nowMs;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    lagsMs: () => [...lags.values()],
    repeated: () => repeated,
    spanMs: () => Math.max(1, at.lastMs - at.firstMs),
    heard: (count: number) =>
      until(`${count} webhooks have come`, () => lags.size >= count, HEARD_POLL_MS),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** As webhooks are sent: no connection is kept. */
function post(url: string, id: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'webhook-id': id };
    const sending = request(url, { method: 'POST', agent: false, headers }, (answer) => {
      answer.resume().on('end', resolve).on('error', reject);
    });
    sending.on('error', reject).end(body);
  });
}
