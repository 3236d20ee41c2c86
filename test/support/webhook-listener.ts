import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Heard {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly type: string;
  readonly orderId: string;
  readonly version: number;
}

export interface WebhookListener {
  readonly url: string;
  readonly heard: readonly Heard[];
  /** How it answers from now on; default 204. */
  answer: (heard: Heard, response: ServerResponse) => void;
  close(): Promise<void>;
}

/** A shop's own system: hears webhooks, and answers as it is told. */
export async function startWebhookListener(): Promise<WebhookListener> {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    void hear(request).then((one) => {
      heard.push(one);
      listener.answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const listener: WebhookListener = {
    url: `http://127.0.0.1:${port}/hooks`,
    heard,
    answer: (_, response) => void response.writeHead(204).end(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return listener;
}

async function hear(request: IncomingMessage): Promise<Heard> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  const { type, data } = JSON.parse(body) as {
    type: string;
    data: { orderId: string; version: number };
  };
  const headers = request.headers as Record<string, string>;
  const { orderId, version } = data;
  return { id: headers['webhook-id'] as string, headers, body, type, orderId, version };
}
