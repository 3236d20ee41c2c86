import type { Type } from '@nestjs/common';
import { z } from 'zod';
import { OPTION_NAMES } from './check-options';
import { HANDLER_MARK, type HandlesDue } from './deadline-handler.decorator';
import { assertOptions, hasMethods, isObject, orElse } from './option-kinds';
import type { TimeoutOptionsFactory } from './timeout-options';

const OF = 'TimeoutModule.forRootAsync';
const any = z.unknown();

/** How options come later; `name` is looked at beside those of `forRoot`. */
const ASYNC = {
  name: any,
  imports: z.array(any, orElse('a list of modules')),
  inject: z.array(any, orElse('a list of tokens')),
  ...{ useFactory: any, useClass: any, useExisting: any },
};

/** @throws {TypeError} where nothing makes the options, and for what stands beside that in vain */
export function checkAsyncOptions(options: unknown): void {
  const given = isObject(options) ? options : {};
  const isMade = hasMethods(given, ['useFactory']) || hasMethods(given, ['useClass']);
  if (!isMade && !given.useExisting) {
    throw new TypeError(
      `${OF}: one of \`useFactory\`, \`useClass\` and \`useExisting\` must make the options`,
    );
  }
  const misplaced = OPTION_NAMES.find((name) => given[name] !== undefined);
  if (misplaced) {
    throw new TypeError(
      `${OF}: \`${misplaced}\` is one of the options that are made, and does not stand beside what makes them`,
    );
  }
  assertOptions(OF, ASYNC, [], given);
}

/** @throws {TypeError} for what makes no options */
export function makeOptions(
  factory: TimeoutOptionsFactory,
  { name }: { readonly name: string },
): ReturnType<TimeoutOptionsFactory['createTimeoutOptions']> {
  if (hasMethods(factory, ['createTimeoutOptions'])) return factory.createTimeoutOptions();
  throw new TypeError(`${OF}: ${name} must have a method \`createTimeoutOptions()\``);
}

/**
 * What is provided otherwise than by its class is looked at once it is made.
 * @throws {TypeError} for a class that no deadline would find, and for what is none yet
 */
export function checkHandlers(handlers: readonly (Type<HandlesDue> | undefined)[]): void {
  for (const one of handlers) {
    if (one === undefined) {
      throw new TypeError(
        'TimeoutModule.forFeature: one of the handlers is undefined: two files import each other',
      );
    }
    if (typeof one === 'function' && !Reflect.hasMetadata(HANDLER_MARK, one))
      throw new TypeError(`TimeoutModule.forFeature: ${one.name} is no @DeadlineHandler(kind)`);
  }
}
