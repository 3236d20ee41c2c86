import { Logger, type Type } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { AmbiguousDeadlineHandlerError, ScopedDeadlineHandlerError } from '../errors';
import { findMarked, isSingleton } from './as-provider';
import { HANDLER_MARK, type HandlerMark, type HandlesDue } from './deadline-handler.decorator';
import { canBeArmed, MOST_BYTES } from '../deadlines/sound-deadline';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A provider that is marked, before it is made. */
export interface FoundHandler {
  readonly mark: HandlerMark;
  /** The name of its class. */
  readonly of: string;
  readonly wrapper: Wrapper;
}

/**
 * Those of this application for the deadlines of that name.
 * @throws {TypeError} for a mark that no deadline can have
 * @throws {AmbiguousDeadlineHandlerError}
 */
export function findHandlers(discovery: DiscoveryService, name: string): readonly FoundHandler[] {
  const byKind = new Map<string, FoundHandler>();
  for (const found of allMarked(discovery)) {
    const { mark } = found;
    if (timeoutsOf(mark) !== name) continue;
    assertSoundMark(found);
    const { kind } = mark;
    const other = byKind.get(kind);
    if (other) {
      throw new AmbiguousDeadlineHandlerError(kind, `${said(kind)} of ${both(other, found)}`);
    }
    byKind.set(kind, found);
  }
  return [...byKind.values()];
}

/** Another application may have their module, as where both share providers: so it is no error. */
export function warnOfNobodys(discovery: DiscoveryService, names: readonly string[]): void {
  const logger = new Logger('Timeouts');
  for (const { mark, of } of allMarked(discovery)) {
    const name = timeoutsOf(mark);
    if (names.includes(name)) continue;
    logger.warn(
      `${of} is for a TimeoutModule of the name "${name}", and this application has none: it handles nothing. ` +
        'Give that name to TimeoutModule.forRoot, or leave `timeouts` out for the one without a name',
    );
  }
}

function allMarked(discovery: DiscoveryService): FoundHandler[] {
  const isMarked = (type: Type): boolean => Reflect.hasMetadata(HANDLER_MARK, type);
  return findMarked(discovery, isMarked).map(([type, wrapper]) => ({
    mark: Reflect.getMetadata(HANDLER_MARK, type) as HandlerMark,
    of: type.name,
    wrapper,
  }));
}

const timeoutsOf = ({ timeouts = 'default' }: HandlerMark): string => timeouts;

/**
 * Of those found before anything was made, and once everything is: what a factory makes under a name that is not
 * its class is seen too late for what is opened for each kind.
 * @throws {TypeError}
 */
export function assertFoundInTime(
  before: readonly FoundHandler[],
  now: readonly FoundHandler[],
): void {
  for (const { mark, of } of now) {
    if (before.some((found) => found.mark.kind === mark.kind)) continue;
    throw new TypeError(
      `${said(mark.kind)} of ${of}: it is made by a factory under another name: provide it by its class, as ` +
        `{ provide: ${of}, useFactory }`,
    );
  }
}

/**
 * Once all providers are made.
 * @throws {ScopedDeadlineHandlerError}
 * @throws {TypeError} where it handles nothing
 */
export function madeHandler({ mark: { kind }, of, wrapper }: FoundHandler): HandlesDue {
  if (!isSingleton(wrapper)) throw new ScopedDeadlineHandlerError(kind);
  const handler = wrapper.instance as HandlesDue | null | undefined;
  if (typeof handler?.handle === 'function') return handler;
  throw new TypeError(`${said(kind)} of ${of}: it must have a method \`handle(due, tx)\``);
}

function assertSoundMark({ mark: { kind, maxBatch }, of }: FoundHandler): void {
  if (!kind || !canBeArmed({ kind, subjectId: 'any' })) {
    throw new TypeError(
      `${said(kind)} of ${of}: its kind must be a text of 1 to ${MOST_BYTES.kind} bytes that Postgres can keep`,
    );
  }
  // A claim of none finds none, and the next one is made at once.
  if (maxBatch === undefined || (Number.isSafeInteger(maxBatch) && maxBatch > 0)) return;
  throw new TypeError(
    `${said(kind)} of ${of}: \`maxBatch\` must be a whole number of 1 or more, not ${maxBatch}`,
  );
}

/** Of one class there is one mark to be seen: which modules make it is what tells. */
function both(one: FoundHandler, other: FoundHandler): string {
  if (one.of !== other.of) return `${one.of}, ${other.of}`;
  const [first, second] = [one, other].map(({ wrapper }) => wrapper.host?.name);
  return (
    `${one.of}, which is provided twice, in ${first} and ${second}: ` +
    'provide it in one module, imported once, and export it to others that need it'
  );
}

const said = (kind: string): string => `@DeadlineHandler(${JSON.stringify(kind)})`;
