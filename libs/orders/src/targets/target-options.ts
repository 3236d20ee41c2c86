import { assertOptions, orElse } from '@app/timeout';
import { z } from 'zod';
import type { HostOrdersTelemetry } from '../order/telemetry';
import type { PaymentProvider } from '../providers/payment-provider';
import { PAYMENTS_OPTION, TELEMETRY_OPTION } from '../providers/provider-options';

export interface CloseTargetModuleOptions {
  /** The shop's providers, as its payments name them; each is measured, and guarded by a breaker. */
  readonly payments: readonly [PaymentProvider, ...PaymentProvider[]];
  /** What becomes of money that is captured for an order that was closed; `refund` unless given. */
  readonly latePayment?: 'refund' | 'hold' | undefined;
  /** Where to report: what is left out is not told; Nest's logger hears of what fails and of alerts unless given. */
  readonly telemetry?: HostOrdersTelemetry | undefined;
}

const OPTIONS = {
  payments: PAYMENTS_OPTION,
  latePayment: z.enum(['refund', 'hold'], orElse('"refund" or "hold"')),
  telemetry: TELEMETRY_OPTION,
} satisfies Record<keyof CloseTargetModuleOptions, z.ZodType>;

const someClasses = orElse('classes marked with @CloseTarget, one or more');

const GIVEN = {
  targets: z
    .array(
      z.custom((value) => typeof value === 'function', orElse('a class')),
      someClasses,
    )
    .min(1, someClasses),
  timeouts: z.string(orElse('a name')),
  imports: z.array(z.unknown(), orElse('a list of modules')),
  inject: z.array(z.unknown(), orElse('a list of tokens')),
  useFactory: z.custom((value) => typeof value === 'function', orElse('a function')),
};

/** @throws {TypeError} naming all that is wrong of what the module is given beside its options */
export const checkGivenTargets = (given: unknown): void =>
  assertOptions('CloseTargetModule', GIVEN, ['targets', 'useFactory'], given);

/** @throws {TypeError} naming every option that is wrong, and how it is right */
export const checkTargetOptions = (options: CloseTargetModuleOptions): void =>
  assertOptions('CloseTargetModule', OPTIONS, ['payments'], options);
