import { Args, Flags } from '@oclif/core';
import { CommandFailure, usageFailure } from '../../command-failure';
import { EXIT } from '../../exit-code';
import { OpsCommand } from '../../ops-command';
import { countText } from '../../text/wording';

const WHO_IS_LOGGED_IN = 'lastcall console sessions shows who is logged in';

export default class ConsoleRevoke extends OpsCommand {
  static override summary = 'End a session of the console, or all of them, at once';
  static override examples = [
    '<%= config.bin %> console revoke 0199a3c0-7b6e-7c53-9d6c-2f6f3a4c5d6e',
    '<%= config.bin %> console revoke --all',
  ];
  static override args = {
    id: Args.string({ ignoreStdin: true, description: 'as `console sessions` lists it' }),
  };
  static override flags = {
    all: Flags.boolean({ description: 'every session, and links that nobody has used' }),
  };

  async run(): Promise<{ revoked: number; links: number }> {
    const { args, flags } = await this.parse(ConsoleRevoke);
    if ((args.id === undefined) === !flags.all) throw usageFailure('Give an id, or --all');
    const { isUuid } = await import('@app/orders/look');
    if (args.id !== undefined && !isUuid(args.id)) {
      throw usageFailure(`"${args.id}" is not the id of a session`, WHO_IS_LOGGED_IN);
    }
    const { pageSessions } = await this.installation();
    const which = args.id ? { id: args.id } : 'all';
    const { sessions, links } = await pageSessions.revoke('console', which);
    if (args.id !== undefined && sessions + links === 0) throw notOpen(args.id);
    const unused = `${countText(links, 'unused link')} ${links === 1 ? 'is' : 'are'} void`;
    this.log(`${countText(sessions, 'session')} ended${links > 0 ? `, ${unused}` : ''}`);
    return { revoked: sessions, links };
  }
}

/** A mistyped id would leave somebody logged in. */
function notOpen(id: string): CommandFailure {
  return new CommandFailure({
    ...{ code: 'session_not_found', exitCode: EXIT.notFound },
    what: `There is no session ${id}, or it has ended already`,
    next: WHO_IS_LOGGED_IN,
  });
}
