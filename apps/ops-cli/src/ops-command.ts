import { Command, Flags, type Interfaces } from '@oclif/core';
import type { Accountable, Page, Purpose, RunningSettings } from '@app/orders';
import type { Look } from '@app/orders/look';
import { CommandFailure, usageFailure } from './command-failure';
import { confirmTyped } from './confirm';
import { EXIT, type ExitCode } from './exit-code';
import { explainFailure } from './explain-failure';
import { filledIn } from './filled-in';
import type { Installation } from './installation';
import type { Whereabouts } from './locate';
import { machineUser } from './machine-user';
import type { WayOn } from './outcome-unknown';
import { REASON, refuseUnprintable } from './reason-flag';
import type { Refuse } from './refuse-beside-host';
import { paint } from './text/paint';
import { printableJson, printableLines } from './text/printable';

/** Flags of every command that changes something: who did it, and why. */
export const ACCOUNTABILITY = {
  reason: Flags.string({ ...REASON, required: true }),
  actor: Flags.string({
    description: 'who; recorded beside the user of this machine',
    helpValue: 'NAME',
    parse: async (text: string): Promise<string> => {
      const name = text.trim();
      if (name.length === 0 || name.length > 200) {
        throw usageFailure('--actor must have 1 to 200 characters');
      }
      await refuseUnprintable('--actor', name);
      return `${name} (${machineUser()})`;
    },
    // What a build writes down of the commands names no user of the machine that built it.
    noCacheDefault: true,
    default: async () => machineUser(),
    defaultHelp: 'the user of this machine',
  }),
};

/** As ACCOUNTABILITY, where the API has no need of a reason either: `words` stand there then. */
export const accountableAs = (words: string) => ({
  ...ACCOUNTABILITY,
  reason: Flags.string({ ...REASON, default: words }),
});

/** Flags of a command that mends what it has found only when it is told to. */
export const fixFlags = (description: string) => ({
  fix: Flags.boolean({ description }),
  reason: Flags.string(REASON),
  actor: ACCOUNTABILITY.actor,
});

/** Flags of a command that is rehearsed, and asks before it does what was rehearsed. */
export const REHEARSAL = {
  'dry-run': Flags.boolean({ description: 'run the real transaction and roll it back' }),
  yes: Flags.boolean({ char: 'y', description: 'do not ask' }),
};

/** What such a command says; `mood` is `would` in a dry run. */
export interface Rehearsal<Outcome> {
  readonly act: (dryRun: boolean) => Promise<Outcome>;
  /** What is known before anything is asked. */
  readonly describe?: (plan: Outcome) => string;
  readonly verdict: (plan: Outcome, mood: 'will' | 'would') => string;
  /** The word to be typed. */
  readonly word: string;
  readonly done: (outcome: Outcome) => string;
  readonly next: (outcome: Outcome) => string;
}

interface FixFlags {
  readonly fix: boolean;
  readonly reason: string | undefined;
  readonly actor: string;
}

/**
 * What all commands share: results on stdout and the rest on stderr, `--json`, the connection to
 * the installation (opened when first asked for), and errors that say what to do next.
 */
export abstract class OpsCommand extends Command {
  static override enableJsonFlag = true;
  static override baseFlags = {
    home: Flags.string({
      description: 'folder of the installation, as LASTCALL_HOME',
      helpValue: 'FOLDER',
      helpGroup: 'GLOBAL',
    }),
    context: Flags.string({
      description: 'installation of this name: lastcall context list',
      helpValue: 'NAME',
      helpGroup: 'GLOBAL',
    }),
  };
  /** What the command is about to do, and so which settings it needs. */
  static purpose: Purpose = 'change';
  /** Told where it fails in the midst of it. */
  protected wayOn: WayOn = {};
  readonly #typed = (this.id ?? '').replaceAll(':', ' ');
  #installation: Promise<Installation> | undefined;
  #look: Promise<Look> | undefined;
  #whereabouts: Whereabouts = {};
  #arguments: Readonly<Record<string, unknown>> = {};
  #isTold = false;

  protected override async parse<
    F extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    B extends Interfaces.OutputFlags<Interfaces.FlagInput>,
    A extends Interfaces.OutputArgs<Interfaces.ArgInput>,
  >(
    options?: Interfaces.Input<F, B, A>,
    argv?: string[],
  ): Promise<Interfaces.ParserOutput<F, B, A>> {
    const parsed = await super.parse<F, B, A>(options, argv);
    const { home, context } = parsed.flags as Whereabouts;
    this.#whereabouts = { home, context };
    // Of several ids none is the one that is meant.
    if (this.ctor.strict) this.#arguments = parsed.args;
    const flags: Record<string, unknown> = parsed.flags;
    for (const [name, { type }] of Object.entries(options?.flags ?? {})) {
      // As its type says: oclif leaves it undefined where it is not given, and so JSON leaves it out.
      if (type === 'boolean') flags[name] ??= false;
    }
    return parsed;
  }

  /** The environment, with what flags, contexts and folders say of where the installation is. */
  protected async environment(): Promise<NodeJS.ProcessEnv> {
    const { locate } = await import('./locate.js');
    const { env, what } = locate(this.#whereabouts, process.env, (line) => this.note(line));
    const { flags } = this.ctor;
    // Those that change something are told who does it.
    const isTold = this.#isTold;
    this.#isTold = true;
    if (what !== null && !isTold && flags && 'actor' in flags) this.note(`Installation: ${what}`);
    return env;
  }

  /** Connects to the installation, unless it refuses that; closed when the command ends. */
  protected installation(refuse?: Refuse): Promise<Installation> {
    // Loaded only now: --help and a mistyped flag need neither Nest nor a database.
    this.#installation ??= this.#open(refuse);
    return this.#installation;
  }

  /** For a command that reads orders and no more; closed when the command ends. */
  protected look(): Promise<Look> {
    this.#look ??= this.#openLook();
    return this.#look;
  }

  async #openLook(): Promise<Look> {
    const env = await this.environment();
    const { openLook } = await import('./open-look.js');
    return openLook(env, (line) => this.note(line));
  }

  async #open(refuse?: Refuse): Promise<Installation> {
    const env = await this.environment();
    const { openInstallation } = await import('./installation.js');
    const { purpose } = this.ctor as typeof OpsCommand;
    return openInstallation(purpose, env, (line) => this.note(line), refuse);
  }

  /** For people, beside the result: always on stderr, also with --json. */
  protected note(line: string): void {
    process.stderr.write(`${printableLines(line)}\n`);
  }

  /** The result; as everything that is printed, without what would act on a terminal. */
  override log(text = ''): void {
    super.log('%s', printableLines(text));
  }

  /** A page of a list, and how to get the next. */
  protected showPage<Item>(
    page: Page<Item>,
    describe: (items: readonly Item[]) => string,
    nothing: string,
  ): Page<Item> {
    if (page.items.length === 0) this.note(nothing);
    else this.log(describe(page.items));
    if (page.nextCursor) this.note(`More: --cursor ${page.nextCursor}`);
    return page;
  }

  /** For whom --fix mends; undefined without it. A reason of one's own tells more than its name. */
  protected fixFor({ fix, reason, actor }: FixFlags): Accountable | undefined {
    if (reason !== undefined && !fix) throw usageFailure('--reason goes with --fix');
    return fix ? { actor, reason: reason ?? `${this.#typed} --fix` } : undefined;
  }

  /** Before --fix: see effective-settings.ts. */
  protected async refuseDifferences(running: RunningSettings): Promise<void> {
    (await import('./effective-settings.js')).refuseDifferences(running);
  }

  /** Rehearses it, says what would become of it, asks, and does it. */
  protected async carryOut<Outcome extends object>(
    { 'dry-run': dryRun, yes }: { readonly 'dry-run': boolean; readonly yes: boolean },
    { act, describe, verdict, word, done, next }: Rehearsal<Outcome>,
  ): Promise<Outcome & { readonly dryRun: boolean }> {
    const plan = await act(true);
    if (describe) this.note(describe(plan));
    if (dryRun) {
      this.log(`${verdict(plan, 'would')} (dry run: nothing was changed)`);
      return { dryRun, ...plan };
    }
    if (!yes) await confirmTyped(this.ctor, verdict(plan, 'will'), word);
    const outcome = await act(false);
    this.log(done(outcome));
    this.note(`Next: ${next(outcome)}`);
    return { dryRun, ...outcome };
  }

  protected endWith(code: ExitCode): void {
    process.exitCode = code;
  }

  override async catch(error: Error): Promise<void> {
    // What explains needs the core; when that itself cannot be loaded, the error speaks for itself.
    const failed = { command: this.#typed, ...this.wayOn };
    const explained = await explainFailure(error, failed).catch(() => unexplained(error));
    const failure = filledIn(explained, this.#arguments);
    this.endWith(failure.parts.exitCode);
    if (this.jsonEnabled()) this.logJson({ error: failure });
    else this.#complain(failure);
    this.debug(failure.cause ?? error);
  }

  override async finally(): Promise<void> {
    const installation = await this.#installation?.catch(() => undefined);
    await installation?.close();
    const look = await this.#look?.catch(() => undefined);
    await look?.close();
  }

  /** Never coloured: it is for programs. */
  override logJson(json: unknown): void {
    process.stdout.write(`${printableJson(json, 2)}\n`);
  }

  #complain({ parts }: CommandFailure): void {
    this.note(`${paint.failure('Error:')} ${indented(parts.what)}`);
    if (parts.why) this.note(`Why:   ${indented(parts.why)}`);
    if (parts.next) this.note(`Next:  ${indented(parts.next)}`);
  }
}

/** A message of several lines cannot pass for lines of ours. */
const indented = (text: string): string => text.replaceAll('\n', `\n${' '.repeat(7)}`);

function unexplained(error: Error): CommandFailure {
  return new CommandFailure({
    code: 'unexpected',
    exitCode: EXIT.unexpected,
    what: error.message,
    next: 'npm run build, then run it again',
  });
}
