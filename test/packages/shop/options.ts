import type { HostCaller } from '@lastcall/orders/http';
import type { StripeProviderOptions } from '@lastcall/orders/stripe';
import type { CloseTargetModuleOptions, TargetVerdict } from '@lastcall/orders/targets';
import type { TimeoutModuleOptions } from '@lastcall/timeout';

/** Whatever may be left out may be undefined, as what a host reads from its own settings is. */
type AllUndefined<Options> = {
  [
    Name in keyof Options as Partial<Pick<Options, Name>> extends Pick<Options, Name> ? Name : never
  ]: undefined;
};
type Takes<Options> = AllUndefined<Options> extends Partial<Options> ? true : never;

/** Compiled under `exactOptionalPropertyTypes`: one that takes no undefined is no `true`. */
export const TAKES_UNDEFINED: [
  Takes<TimeoutModuleOptions>,
  Takes<CloseTargetModuleOptions>,
  Takes<StripeProviderOptions>,
  Takes<TargetVerdict>,
  Takes<HostCaller>,
] = [true, true, true, true, true];
