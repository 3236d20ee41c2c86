import { Flags } from '@oclif/core';
import { usageFailure } from '../../command-failure';
import { ACCOUNTABILITY, OpsCommand } from '../../ops-command';
import { reachedAt } from '../../reached-at';
import { refuseWithoutConsole } from '../../refuse-beside-host';

const SCOPES = {
  read: ['ops:read'],
  operate: ['ops:read', 'ops:write'],
  admin: ['ops:read', 'ops:write', 'ops:admin'],
} as const;
const CODE_MS = 60_000;
const SESSION_MS = 8 * 3_600_000;

export default class ConsoleOpen extends OpsCommand {
  static override summary = 'Print a link that opens the console, once and within a minute';
  static override description =
    'The browser that opens it is logged in for 8 hours, or until `console revoke`. What is changed ' +
    'there is written down under the name of --actor.';
  static override examples = [
    '<%= config.bin %> console open',
    '<%= config.bin %> console open --access read --actor olga --url https://pay.example',
  ];
  static override flags = {
    access: Flags.string({
      description: 'look only, also act, or also resume timeouts and end sessions',
      options: Object.keys(SCOPES),
      default: 'operate',
    }),
    url: Flags.string({
      description: 'where the API is reached; PUBLIC_URL, or this machine, unless given',
      helpValue: 'URL',
      // Before anything is invited.
      parse: async (url: string): Promise<string> => {
        const { webUrl, WEB_URL_RULE } = await import('@app/orders/look');
        if (!webUrl(url)) throw usageFailure(`--url ${WEB_URL_RULE}, not "${url}"`);
        return url;
      },
    }),
    actor: ACCOUNTABILITY.actor,
  };

  async run(): Promise<{ url: string; expiresAt: string }> {
    const { flags } = await this.parse(ConsoleOpen);
    const { config, pageSessions } = await this.installation(refuseWithoutConsole);
    const { code, codeEndsAt } = await pageSessions.invite({
      page: 'console',
      subject: flags.actor,
      scopes: SCOPES[flags.access as keyof typeof SCOPES],
      codeLifetimeMs: CODE_MS,
      lifetimeMs: SESSION_MS,
    });
    const base = flags.url ?? config.PUBLIC_URL ?? reachedAt(config);
    // Behind the hash it is sent to no server, and stands in no log.
    const url = `${new URL('/console', base).href}#login=${code}`;
    this.log(url);
    return { url, expiresAt: codeEndsAt.toISOString() };
  }
}
