import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { SigningKey } from '../order/signing-key';

/** Long enough for one checkout: the payment window, its grace and the answer of a provider. */
const LIFETIME_MS = 900_000;
const PURPOSE = 'stream-token';
/** The instant of its end in base 36, and the signature. */
const TOKEN = /^([0-9a-z]{1,10})\.([\w-]{43})$/;

export interface StreamToken {
  readonly token: string;
  readonly expiresAt: string;
}

/**
 * Tokens that open one order's stream and nothing else. They stand in addresses, as a browser's
 * EventSource sends no header, and addresses get into logs: so they end soon and name nobody.
 */
@Injectable()
export class StreamTokens {
  constructor(private readonly key: SigningKey) {}

  /** For whoever may read this order now, until `latestMs` (since the epoch) at the most. */
  async issue(orderId: string, latestMs: number): Promise<StreamToken> {
    const endsAtMs = Math.floor(Math.min(Date.now() + LIFETIME_MS, latestMs));
    const end = endsAtMs.toString(36);
    const signature = await this.key.sign(PURPOSE, orderId, end);
    const token = `${end}.${signature.toString('base64url')}`;
    return { token, expiresAt: new Date(endsAtMs).toISOString() };
  }

  /** When the token ends, in milliseconds since the epoch; undefined when it is not good for this order. */
  async endOf(token: string, orderId: string): Promise<number | undefined> {
    const [, end, signature] = TOKEN.exec(token) ?? [];
    if (end === undefined || signature === undefined) return undefined;
    const expected = (await this.key.sign(PURPOSE, orderId, end)).toString('base64url');
    const isGenuine = timingSafeEqual(Buffer.from(signature), Buffer.from(expected));
    const endsAtMs = Number.parseInt(end, 36);
    return isGenuine && endsAtMs > Date.now() ? endsAtMs : undefined;
  }
}
