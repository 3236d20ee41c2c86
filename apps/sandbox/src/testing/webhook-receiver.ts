import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedWebhook {
  readonly id: string;
  readonly type: string;
  readonly data: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
}

/** A merchant's webhook endpoint: a real server that tells the test what has arrived. */
export class WebhookReceiver {
  /** Used up one a request; after them every request is answered with 204. */
  readonly replies: Reply[] = [];
  readonly received: ReceivedWebhook[] = [];
  readonly #server: Server;
  #taken = 0;
  #tell: (() => void) | null = null;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { status, headers } = this.replies.shift() ?? { status: 204 };
        response.writeHead(status, headers).end();
        this.#take(request.headers, Buffer.concat(chunks).toString('utf8'));
      });
    });
    // A machine may stand still for longer than Node keeps connections, and who uses one that ends fails.
    this.#server.keepAliveTimeout = 0;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/webhooks`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The next webhook that the test has not seen yet, as soon as it is there. */
  async next(): Promise<ReceivedWebhook> {
    while (this.received.length === this.#taken) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve;
      });
    }
    this.#taken += 1;
    return this.received[this.#taken - 1]!;
  }

  async take(count: number): Promise<ReceivedWebhook[]> {
    const taken: ReceivedWebhook[] = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  #take(headers: IncomingHttpHeaders, body: string): void {
    const { type, data } = JSON.parse(body) as Pick<ReceivedWebhook, 'type' | 'data'>;
    this.received.push({ id: String(headers['webhook-id']), type, data, headers, body });
    this.#tell?.();
  }
}
