import { Command, Flags } from '@oclif/core';
import { CommandFailure, usageFailure } from './command-failure';
import { EXIT, type ExitCode } from './exit-code';
import { explainFailure } from './explain-failure';
import type { Installation } from './installation';
import { paint } from './text/paint';

const REASON = {
  description: 'why; it is kept with the change',
  helpValue: 'TEXT',
  parse: async (text: string): Promise<string> => {
    const reason = text.trim();
    if (reason.length === 0 || reason.length > 500) {
      throw usageFailure('--reason must have 1 to 500 characters');
    }
    return reason;
  },
};

/** For a command that changes something only with a flag, and then has a reason of its own. */
export const OPTIONAL_REASON = Flags.string(REASON);

/** Flags of every command that changes something: who did it, and why. */
export const ACCOUNTABILITY = {
  reason: Flags.string({ ...REASON, required: true }),
  actor: Flags.string({
    description: 'who; the user of this machine unless given',
    helpValue: 'NAME',
    default: async () => `cli:${(await import('node:os')).userInfo().username}`,
    defaultHelp: 'the user of this machine',
  }),
};

/**
 * What all commands share: results on stdout and the rest on stderr, `--json`, the connection to
 * the installation (opened when first asked for), and errors that say what to do next.
 */
export abstract class OpsCommand extends Command {
  static override enableJsonFlag = true;
  #installation: Promise<Installation> | undefined;

  /** Connects to the installation; closed when the command ends. */
  protected installation(): Promise<Installation> {
    // Loaded only now: --help and a mistyped flag need neither Nest nor a database.
    this.#installation ??= import('./installation.js').then(({ openInstallation }) =>
      openInstallation((line) => this.note(line)),
    );
    return this.#installation;
  }

  /** For people, beside the result: always on stderr, also with --json. */
  protected note(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  protected endWith(code: ExitCode): void {
    process.exitCode = code;
  }

  override async catch(error: Error): Promise<void> {
    // What explains needs the core; when that itself cannot be loaded, the error speaks for itself.
    const failure = await explainFailure(error, this.id ?? '').catch(() => unexplained(error));
    this.endWith(failure.parts.exitCode);
    if (this.jsonEnabled()) this.logJson({ error: failure });
    else this.#complain(failure);
    this.debug(failure.cause ?? error);
  }

  override async finally(): Promise<void> {
    const installation = await this.#installation?.catch(() => undefined);
    await installation?.close();
  }

  /** Never coloured: it is for programs. */
  override logJson(json: unknown): void {
    process.stdout.write(`${JSON.stringify(json, null, 2)}\n`);
  }

  #complain({ parts }: CommandFailure): void {
    this.note(`${paint.failure('Error:')} ${parts.what}`);
    if (parts.why) this.note(`Why:   ${parts.why}`);
    if (parts.next) this.note(`Next:  ${parts.next}`);
  }
}

function unexplained(error: Error): CommandFailure {
  return new CommandFailure({
    code: 'unexpected',
    exitCode: EXIT.unexpected,
    what: error.message,
    next: 'npm run build, then run it again',
  });
}
