import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ScopedOptionsError } from '../errors';

/**
 * Provided beside a module's options: refuses such that are made from what a request makes anew. Nest would start
 * nothing of that module, and tell nobody.
 * @param options their token
 */
export const onlyMadeOnce = (options: InjectionToken, module: string): FactoryProvider => ({
  provide: Symbol(`OnlyMadeOnce:${module}`),
  inject: [DiscoveryService],
  // Of what depends on what is known once all providers are made.
  useFactory: (discovery: DiscoveryService) => ({
    onModuleInit: () => assertMadeOnce(discovery, options, module),
  }),
});

/** @throws {ScopedOptionsError} */
function assertMadeOnce(
  discovery: DiscoveryService,
  options: InjectionToken,
  module: string,
): void {
  const makers = discovery.getProviders().filter(({ token }) => token === options);
  for (const maker of makers) {
    if (maker.isDependencyTreeStatic()) continue;
    // What is optional and missing has left a gap among them.
    const given = Object.values(maker.getCtorMetadata());
    const scoped = given.find((one) => !one.isDependencyTreeStatic());
    throw new ScopedOptionsError(module, nameOf(scoped?.token));
  }
}

const nameOf = (token: InjectionToken | undefined): string =>
  typeof token === 'function' ? token.name : String(token);
