import { Injectable, type InjectableOptions } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';

/** Where Nest keeps what `@Injectable` was told, in all of its versions. */
const SCOPE = 'scope:options';

/**
 * Makes a class a provider, as `@Injectable()` does, whose scope stands where one was said before: decorators
 * take effect from the last to the first. Who needs a singleton refuses another scope.
 */
export const asProvider: ClassDecorator = (target) =>
  Injectable(Reflect.getOwnMetadata(SCOPE, target) as InjectableOptions | undefined)(target);

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** False for what is made anew for each request or each that needs it, and what depends on what a request has. */
export const isSingleton = (wrapper: Wrapper): boolean =>
  wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
