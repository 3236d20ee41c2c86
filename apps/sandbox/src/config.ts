import { z } from 'zod';
import { isOwnReceiver } from './own-machine';
import { fieldErrors } from './problem';
import { signingKey } from './webhook-signature';

const SECRET = /^(whsec_)?(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** What Standard Webhooks asks of a secret. */
const MIN_SECRET_BYTES = 24;

const environment = z.object({
  // 127.0.0.1 lets only this machine connect; a container needs 0.0.0.0 to be reached.
  SANDBOX_HOST: z
    .union([z.ipv4(), z.ipv6()], 'must be an IP address such as 127.0.0.1')
    .default('127.0.0.1'),
  SANDBOX_PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port number (0 = any free port)')
    .transform(Number)
    .refine((port) => port <= 65_535, 'must be at most 65535')
    .default(3001),
  SANDBOX_WEBHOOK_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine(isOwnReceiver, 'must be on this machine, or name a container')
    .default('http://127.0.0.1:3000/v1/webhooks/sandbox'),
  SANDBOX_WEBHOOK_SECRET: z
    .string('is required: the key webhooks are signed with')
    .refine(isUsableSecret, 'must be "whsec_" and base64 of at least 24 bytes'),
  SANDBOX_DATA: z.string().optional(),
});

export interface SandboxConfig {
  /** Absent: only this machine can connect. */
  readonly host?: string;
  readonly port: number;
  readonly webhookUrl: string;
  readonly webhookSecret: string;
  /** Where the ledger is kept; without it the sandbox forgets everything when it stops. */
  readonly dataFolder: string | null;
}

export class ConfigError extends Error {}

export function readConfig(env: NodeJS.ProcessEnv): SandboxConfig {
  // An empty variable means the same as none: compose files and shells write both.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const result = environment.safeParse(given);
  if (!result.success) {
    const lines = fieldErrors(result.error).map(({ field, message }) => `${field} ${message}`);
    throw new ConfigError(lines.join('\n'));
  }
  return {
    host: result.data.SANDBOX_HOST,
    port: result.data.SANDBOX_PORT,
    webhookUrl: result.data.SANDBOX_WEBHOOK_URL,
    webhookSecret: result.data.SANDBOX_WEBHOOK_SECRET,
    dataFolder: result.data.SANDBOX_DATA ?? null,
  };
}

function isUsableSecret(secret: string): boolean {
  return SECRET.test(secret) && signingKey(secret).length >= MIN_SECRET_BYTES;
}
