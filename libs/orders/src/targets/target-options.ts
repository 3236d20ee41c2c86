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

/** @throws {TypeError} naming every option that is wrong, and how it is right */
export const checkTargetOptions = (options: CloseTargetModuleOptions): void =>
  assertOptions('CloseTargetModule', OPTIONS, ['payments'], options);
