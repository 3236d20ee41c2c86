import { type DynamicModule, type InjectionToken, Module } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { LazilyLoadedError } from '../errors';

@Module({})
class BootWitnessModule {}

/** Of the deadlines of that name. */
export const witnessToken = (name: string): string => `LastcallWitness:${name}`;

/** Imported by a global module, which stands at no place of its own among the others. */
export const bootWitness = (token: InjectionToken): DynamicModule => ({
  module: BootWitnessModule,
  providers: [{ provide: token, useValue: true }],
});

/**
 * Nest starts modules by their distance from the application's own, which is 1 and is measured at boot alone: one that
 * is loaded later has none. Nor has what is left of a module that a test has replaced, beside the one in its place.
 * @param token one of a module that is not global
 * @param what becomes of a module that Nest does not start
 * @throws {LazilyLoadedError}
 */
export function assertLoadedAtBoot(
  discovery: DiscoveryService,
  token: InjectionToken,
  name: string,
  what: string,
): void {
  const witnesses = discovery.getProviders().filter((wrapper) => wrapper.token === token);
  if (witnesses.every(({ host }) => host?.distance === 0)) throw new LazilyLoadedError(name, what);
}
