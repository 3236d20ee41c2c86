import { EXIT, type ExitCode } from './exit-code';

export interface FailureParts {
  /** Stable, for scripts. */
  readonly code: string;
  readonly exitCode: ExitCode;
  /** What happened. */
  readonly what: string;
  readonly why?: string | undefined;
  /** What to do next: a command where there is one. */
  readonly next?: string | undefined;
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}

/** The end of a command that did not do what it was asked to. */
export class CommandFailure extends Error {
  constructor(
    readonly parts: FailureParts,
    options?: ErrorOptions,
  ) {
    super(parts.what, options);
    this.name = 'CommandFailure';
  }

  /** As `--json` prints it. */
  toJSON(): Record<string, unknown> {
    const { what, why, next, ...rest } = this.parts;
    return { ...rest, message: what, why: why ?? null, next: next ?? null };
  }
}

export function usageFailure(what: string, next?: string): CommandFailure {
  return new CommandFailure({ code: 'usage', exitCode: EXIT.usage, what, next });
}
