import { startSandbox, type Sandbox } from '../sandbox';
import { ManualClock } from './manual-clock';
import { WebhookReceiver } from './webhook-receiver';

export const SECRET = 'whsec_c2FuZGJveC10ZXN0LXNlY3JldA==';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  // The tests look into answers of many shapes, and a wrong guess fails the test.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

/** A sandbox, its merchant and a clock that stands still; everything between them is real HTTP. */
export class Harness {
  readonly clock = new ManualClock();
  readonly receiver = new WebhookReceiver();
  readonly #dataFolder: string | null;
  #sandbox: Sandbox | null = null;
  #webhookUrl = '';
  #references = 0;

  constructor(dataFolder: string | null = null) {
    this.#dataFolder = dataFolder;
  }

  get url(): string {
    return this.#sandbox?.url ?? '';
  }

  async start(): Promise<void> {
    this.#webhookUrl = await this.receiver.start();
    await this.startSandbox();
  }

  async startSandbox(): Promise<void> {
    this.#sandbox = await startSandbox(
      {
        port: 0,
        webhookUrl: this.#webhookUrl,
        webhookSecret: SECRET,
        dataFolder: this.#dataFolder,
      },
      this.clock,
    );
  }

  async stopSandbox(): Promise<void> {
    await this.#sandbox?.close();
    this.#sandbox = null;
  }

  async stop(): Promise<void> {
    await this.stopSandbox();
    await this.receiver.stop();
  }

  async call(method: string, path: string, body?: unknown): Promise<HttpAnswer> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text && JSON.parse(text) };
  }

  get(path: string): Promise<HttpAnswer> {
    return this.call('GET', path);
  }

  post(path: string, body?: unknown): Promise<HttpAnswer> {
    return this.call('POST', path, body);
  }

  /** Instants as the sandbox's clock counts them. */
  inMs(ms: number): string {
    return new Date(this.clock.now() + ms).toISOString();
  }

  async faults(patch: object): Promise<void> {
    const { status, body } = await this.call('PUT', '/v1/faults', patch);
    if (status !== 200) throw new Error(JSON.stringify(body));
  }

  newPayment(change: object = {}): object {
    this.#references += 1;
    return { reference: `reference-${this.#references}`, amount: 1999, currency: 'EUR', ...change };
  }

  async openPayment(change: object = {}): Promise<string> {
    const { body } = await this.post('/v1/payments', this.newPayment(change));
    return String(body.id);
  }

  async paidPayment(): Promise<string> {
    const id = await this.openPayment();
    await this.post(`/v1/payments/${id}/pay`);
    await this.receiver.next();
    return id;
  }
}
