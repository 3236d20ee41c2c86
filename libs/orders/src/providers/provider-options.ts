import { hasMethods, having, orElse } from '@app/timeout';
import { z } from 'zod';
import { type PaymentProvider, PROVIDER_NAME } from './payment-provider';

const METHODS = [
  ...(['planPayment', 'createPayment', 'findPayment', 'closePayment', 'refund'] as const),
  ...(['findRefund', 'readWebhook', 'ledger', 'takes'] as const),
] satisfies (keyof PaymentProvider)[];

const provider = z.custom(
  (value) => hasMethods(value, METHODS) && typeof (value as PaymentProvider).name === 'string',
  orElse(`a PaymentProvider: a name, and ${METHODS.join(', ')}`),
);

/** A host's providers, where no compiler has looked at them. */
export const PAYMENTS_OPTION = z
  .array(provider, orElse('a list of PaymentProviders'))
  .nonempty(orElse('one PaymentProvider or more'))
  .refine(
    (all) => all.every((one) => PROVIDER_NAME.test((one as PaymentProvider).name)),
    orElse('of PaymentProviders whose names are 1 to 64 letters, digits, ".", "_" or "-"'),
  )
  .refine(
    (all) => new Set(all.map((one) => (one as PaymentProvider).name)).size === all.length,
    orElse('of PaymentProviders that each have another name'),
  );

export const TELEMETRY_OPTION = having(['failed', 'alert'], 'an OrdersTelemetry');
