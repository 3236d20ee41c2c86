import { Agent as HttpAgent, request as httpRequest, type ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

export interface WebhookAnswer {
  readonly status: number;
  /** Seconds or an HTTP date, as received. */
  readonly retryAfter: string | undefined;
}

/** A receiver that says nothing for this long counts as failed. */
const TIMEOUT_MS = 10_000;

/** node:http over kept-alive connections: several times the rate of `fetch` per core. */
export class WebhookPoster {
  readonly #httpAgent = new HttpAgent({ keepAlive: true });
  readonly #httpsAgent = new HttpsAgent({ keepAlive: true });
  readonly #underWay = new Set<ClientRequest>();

  post(url: string, headers: Record<string, string>, body: string): Promise<WebhookAnswer> {
    const secure = url.startsWith('https:');
    return new Promise((resolve, reject) => {
      const sent = (secure ? httpsRequest : httpRequest)(
        url,
        {
          method: 'POST',
          agent: secure ? this.#httpsAgent : this.#httpAgent,
          headers: {
            ...headers,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': 'lastcall-sandbox',
          },
          timeout: TIMEOUT_MS,
        },
        (answer) => {
          answer.on('error', reject);
          answer.on('end', () => {
            const retryAfter = answer.headers['retry-after'];
            resolve({ status: answer.statusCode ?? 0, retryAfter });
          });
          answer.resume();
        },
      );
      this.#underWay.add(sent);
      sent.on('timeout', () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
      sent.on('error', reject);
      sent.on('close', () => this.#underWay.delete(sent));
      sent.end(body);
    });
  }

  /** Breaks off what is under way; it stays undelivered and is sent again after a restart. */
  close(): void {
    for (const sent of this.#underWay) sent.destroy(new Error('the sandbox stops'));
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }
}
