import {
  applyDecorators,
  Injectable,
  type InjectableOptions,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';

/** Where Nest keeps what `@Injectable` was told, in all of its versions. */
const SCOPE = 'scope:options';

/**
 * Makes a class a provider, as `@Injectable()` does, whose scope stands where one was said before: decorators
 * take effect from the last to the first. Who needs a singleton refuses another scope.
 */
export const asProvider: ClassDecorator = (target) =>
  Injectable(Reflect.getOwnMetadata(SCOPE, target) as InjectableOptions | undefined)(target);

/**
 * A mark that makes a class a provider, and that it has once; of a class that it extends it may be another one.
 * @throws {TypeError} where the class has it already: Nest keeps one, and the other would be gone in silence
 */
export const markOnce =
  (name: string, key: string, mark: object) =>
  (target: abstract new (...args: never[]) => unknown): void => {
    if (Reflect.hasOwnMetadata(key, target)) {
      throw new TypeError(
        `${target.name} has two marks @${name}, of which one would never be heard of: write a class for each`,
      );
    }
    applyDecorators(asProvider, SetMetadata(key, mark))(target);
  };

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** False for what is made anew for each request or each that needs it, and what depends on what a request has. */
export const isSingleton = (wrapper: Wrapper): boolean =>
  wrapper.isDependencyTreeStatic() && !wrapper.isTransient;

/**
 * What is marked, with the class that is: of what Nest makes itself, of a value, of what a factory has made, or the one
 * that it is provided by, as where a test has another in its place. Another name of a provider is left out, and so is
 * what a factory, or a value, gives once more.
 */
export function findMarked(
  discovery: DiscoveryService,
  isMarked: (type: Type) => boolean,
): [type: Type, wrapper: Wrapper][] {
  const found = new Set<unknown>();
  return [...discovery.getProviders(), ...discovery.getControllers()].flatMap((wrapper) => {
    const { metatype, token, isAlias } = wrapper;
    const instance: unknown = wrapper.instance;
    const types: readonly unknown[] = isAlias ? [] : [metatype, classOf(instance), token];
    const type = types.find(
      (one): one is Type => typeof one === 'function' && isMarked(one as Type),
    );
    if (!type || found.has(instance)) return [];
    // What no factory has made yet is nothing, of each of them.
    if (isMade(instance)) found.add(instance);
    return [[type, wrapper]];
  });
}

/** False for what a factory has left out, as well. */
export const isMade = (instance: unknown): boolean => instance !== undefined && instance !== null;

function classOf(instance: unknown): unknown {
  if (typeof instance !== 'object' || instance === null) return undefined;
  const prototype = Object.getPrototypeOf(instance) as { readonly constructor?: unknown } | null;
  return prototype?.constructor;
}
