import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Passes every request on to whoever answers it, and shows it to a judge. */
export interface Witness {
  readonly url: string;
  /** Each request, as in `GET /v1/refunds/:id`. */
  readonly seen: readonly string[];
  readonly objections: readonly string[];
  stop(): Promise<void>;
}

const ID = /\/(cs|re)_[^/]+/;
/** Of the connection, and not of the request. */
const HOP_BY_HOP = ['connection', 'host', 'content-length', 'transfer-encoding', 'keep-alive'];

export async function startWitness(answererUrl: string, judgeUrl: string): Promise<Witness> {
  const seen: string[] = [];
  const objections: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await readBody(request);
      const path = request.url ?? '/';
      const send = (to: string): Promise<Response> =>
        fetch(to + path, {
          method: request.method ?? 'GET',
          headers: headersOf(request),
          ...(request.method === 'POST' ? { body } : {}),
        });
      const what = `${request.method} ${path.replace(/\?.*/, '').replace(ID, '/:id')}`;
      seen.push(what);
      const judged = await send(judgeUrl);
      const said = await judged.text();
      if (!judged.ok) objections.push(`${what}: ${judged.status} ${said.replace(/\s+/g, ' ')}`);
      const answer = await send(answererUrl);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(await answer.text());
    })().catch((error: unknown) => {
      objections.push(`${request.method} ${request.url}: ${String(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    objections,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function headersOf({ headers }: IncomingMessage): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && !HOP_BY_HOP.includes(name) ? [[name, value]] : [],
  );
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
