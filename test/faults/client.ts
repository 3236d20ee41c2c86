import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { signedHeaders, signingKey } from '../../apps/sandbox/src/webhook-signature';
import { type Answer, type Experience, newExperience, note } from './experience';
import type { Rig } from './rig';

/** Longer than anybody waits: what takes so long is a fault of its own. */
const CALL_LIMIT_MS = 30_000;

/** The calls of customers, merchants, operators and buyers. What cannot be reached has status 0. */
export class Client {
  /** Of all calls of the API but the provider's. */
  experience: Experience = newExperience();
  readonly #tokens = new Map<string, Promise<string>>();

  constructor(private readonly rig: Rig) {}

  async api(
    methodAndPath: string,
    options: {
      readonly sub?: string;
      readonly scope?: string;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Answer> {
    const token = await this.#token(options.sub ?? 'ann', options.scope ?? 'orders');
    const headers = { authorization: `Bearer ${token}`, ...options.headers };
    const answer = await call(this.rig.apiUrl, methodAndPath, { ...options, headers });
    note(this.experience, answer);
    return answer;
  }

  sandbox(methodAndPath: string, body?: unknown): Promise<Answer> {
    return call(this.rig.sandboxUrl, methodAndPath, { body });
  }

  /** @throws where the sandbox does not know them: a row without its fault shows nothing */
  async faults(faults: Readonly<Record<string, unknown>>): Promise<void> {
    const { status } = await this.sandbox('PUT /v1/faults', faults);
    if (status !== 200)
      throw new Error(`the sandbox answers ${status} to ${JSON.stringify(faults)}`);
  }

  healProvider(): Promise<Answer> {
    return this.sandbox('DELETE /v1/faults');
  }

  /** A webhook as the provider would sign it, or with what `forge` puts in its place. */
  webhook(
    body: unknown,
    forge: { readonly id?: string; readonly secret?: string; readonly ageS?: number } = {},
  ): Promise<Answer> {
    const id = forge.id ?? randomUUID();
    const secret = forge.secret ?? this.rig.secrets.SANDBOX_WEBHOOK_SECRET;
    const sentAtMs = Date.now() - 1_000 * (forge.ageS ?? 0);
    const headers = signedHeaders(signingKey(secret), id, JSON.stringify(body), sentAtMs);
    return call(this.rig.apiUrl, 'POST /v1/webhooks/sandbox', { body, headers });
  }

  #token(sub: string, scope: string): Promise<string> {
    const known = this.#tokens.get(`${sub} ${scope}`);
    if (known) return known;
    const made = new SignJWT({ scope })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(sub)
      .setExpirationTime('5h')
      .sign(new TextEncoder().encode(this.rig.secrets.AUTH_JWT_SECRET));
    this.#tokens.set(`${sub} ${scope}`, made);
    return made;
  }
}

async function call(
  url: string,
  methodAndPath: string,
  { body, headers = {} }: { body?: unknown; headers?: Readonly<Record<string, string>> },
): Promise<Answer> {
  const [method, path] = methodAndPath.split(' ', 2) as [string, string];
  const startedMs = performance.now();
  const tookMs = (): number => Math.round(performance.now() - startedMs);
  try {
    const response = await fetch(url + path, {
      method,
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const read = text === '' ? {} : (JSON.parse(text) as Answer['body']);
    return { status: response.status, body: read, headers: response.headers, tookMs: tookMs() };
  } catch {
    return { status: 0, body: {}, headers: new Headers(), tookMs: tookMs() };
  }
}
