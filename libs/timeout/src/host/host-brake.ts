import { Logger } from '@nestjs/common';
import type { BrakeOptions } from '../brake/brake';
import type { BrakeFacts } from '../brake/brake-table';
import { unattended } from '../database/unattended';

/** A fifth, as of the order module. */
const SHARE = 0.2;

/** When a host's deadlines stop and wait for somebody, until `Timeouts.resume`. */
export interface HostBrake {
  /** The kinds that it stops: those whose handlers cannot be undone. */
  readonly kinds: readonly string[];
  /** The share of a kind's deadlines that may be due at once while something is wrong; 0.2 unless given. */
  readonly share?: number | undefined;
  /**
   * A reason of the host's own to be careful, in a word, or undefined; asked often, so it answers at once by what is
   * known already. A clock that jumps always is one.
   */
  readonly suspicion?: (() => string | undefined) | undefined;
  /** Told once in each process; Nest's logger hears of it as well. */
  readonly onEngaged?: ((facts: BrakeFacts) => void) | undefined;
}

/** As the service takes it; off where the host has given none, for what is `handled` here. */
export function brakeOf(brake: HostBrake | undefined, handled: readonly string[]): BrakeOptions {
  if (!brake) return { kinds: handled, share: null };
  const { kinds, share = SHARE, suspicion, onEngaged } = brake;
  const logger = new Logger('Timeouts');
  const failed = (what: string) => (error: unknown) => logger.warn(`${what}: ${String(error)}`);
  return {
    kinds,
    share,
    suspicion: suspicion && sound(suspicion, failed('suspicion of the brake')),
    onEngaged: (facts) => {
      const { cause, kind, due, waiting } = facts;
      logger.error(
        `Deadlines have stopped (${cause}): ${due} of ${waiting} of kind "${kind}" were due at once. ` +
          'Timeouts.resume lets them go on',
      );
      void unattended(() => onEngaged?.(facts), failed('onEngaged of the brake'));
    },
  };
}

/** All processes of a schema have the same brake, so that another one may handle them. */
export function warnOfUnhandled({ kinds }: BrakeOptions, handled: readonly string[]): void {
  const logger = new Logger('Timeouts');
  for (const kind of kinds.filter((one) => !handled.includes(one))) {
    logger.warn(
      `The brake covers deadlines of kind "${kind}", and nobody here handles them: mark a provider ` +
        `with @DeadlineHandler("${kind}"), unless another service does`,
    );
  }
}

/** One that throws says nothing, nor does what is no word; what nobody can have meant so is told of once. */
function sound(
  suspicion: () => unknown,
  failed: (error: unknown) => void,
): () => string | undefined {
  let isTold = false;
  const refused = (said: unknown): undefined => {
    // A promise comes too late; where it fails, nobody else hears of that.
    void Promise.resolve(said).catch(() => undefined);
    if (!isTold)
      failed(`it has to answer with a word, or undefined, at once, not with ${show(said)}`);
    isTold = true;
  };
  return () => {
    try {
      const said = suspicion();
      if (said === undefined || said === null || said === false || said === '') return undefined;
      return typeof said === 'string' ? said : refused(said);
    } catch (error) {
      failed(error);
      return undefined;
    }
  };
}

const show = (said: unknown): string =>
  said instanceof Promise ? 'a promise' : `${typeof said} ${String(said)}`;
