import { Flags } from '@oclif/core';
import { CommandFailure, usageFailure } from '../command-failure';
import { EXIT } from '../exit-code';
import { OpsCommand } from '../ops-command';
import { durationText } from '../text/wording';

const HOUR_MS = 3_600_000;
const LIFETIME_MS = 24 * HOUR_MS;
const SCOPES = ['orders', 'merchant', 'ops', 'ops:read', 'ops:write', 'ops:admin', 'metrics'];

export default class Token extends OpsCommand {
  static override summary = 'Make a development token, signed with the secret of this installation';
  static override examples = [
    '<%= config.bin %> token --sub ann --scope orders',
    'export TOKEN=$(<%= config.bin %> token --sub ann --scope orders)',
  ];
  static override flags = {
    sub: Flags.string({
      description: 'whom it stands for',
      required: true,
      helpValue: 'NAME',
      parse: async (name: string): Promise<string> => {
        const { isSubject, SUBJECT_RULE } = await import('@app/orders/look');
        if (!isSubject(name)) throw usageFailure(`--sub ${SUBJECT_RULE}`);
        return name;
      },
    }),
    scope: Flags.string({
      description: `what it allows: ${SCOPES.join(', ')}; repeat it for several`,
      required: true,
      multiple: true,
      options: SCOPES,
    }),
    hours: Flags.integer({
      description: 'how long it is good for; 24, or AUTH_MAX_AGE where that is less, unless given',
      min: 1,
      max: 720,
    }),
  };

  async run(): Promise<{ token: string; sub: string; scope: string; expiresAt: string }> {
    const { flags } = await this.parse(Token);
    const { loadConfig } = await import('@app/orders');
    const { SignJWT } = await import('jose');
    const config = loadConfig(await this.environment());
    const { AUTH_JWT_SECRET: secret, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = config;
    if (!secret) throw issuedElsewhere();
    const lifetimeMs = lifetimeOf(flags.hours, config.AUTH_MAX_AGE);
    const scope = flags.scope.join(' ');
    const expiresAt = new Date(Date.now() + lifetimeMs);
    const claims = { scope, ...(issuer && { iss: issuer }), ...(audience && { aud: audience }) };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(flags.sub)
      .setIssuedAt()
      .setExpirationTime(expiresAt)
      .sign(new TextEncoder().encode(secret));
    this.log(token);
    return { token, sub: flags.sub, scope, expiresAt: expiresAt.toISOString() };
  }
}

/** The API takes none that is good for longer than AUTH_MAX_AGE. */
function lifetimeOf(hours: number | undefined, maxAgeMs: number): number {
  if (hours === undefined) return Math.min(LIFETIME_MS, maxAgeMs);
  if (hours * HOUR_MS <= maxAgeMs) return hours * HOUR_MS;
  throw usageFailure(
    `--hours ${hours} is more than AUTH_MAX_AGE, which is ${durationText(maxAgeMs)}: the API would not take it`,
  );
}

function issuedElsewhere(): CommandFailure {
  return new CommandFailure({
    code: 'tokens_issued_elsewhere',
    exitCode: EXIT.refused,
    what: 'This installation takes no tokens of ours',
    why: 'AUTH_JWKS_URL is set: a real issuer signs them',
    next: 'ask that issuer for a token',
  });
}
