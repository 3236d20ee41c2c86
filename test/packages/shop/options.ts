import type { HostCaller } from '@lastcall/orders/http';
import type { StripeProviderOptions } from '@lastcall/orders/stripe';
import type { CloseTargetModuleOptions, TargetVerdict } from '@lastcall/orders/targets';
import type { OrdersHostOptions } from '@lastcall/orders';
import type { TimeoutModuleOptions } from '@lastcall/timeout';
import type { BullmqDriverOptions } from '@lastcall/timeout/bullmq';
import type { PostgresDriverOptions } from '@lastcall/timeout/postgres';
import type { RedlockLockOptions } from '@lastcall/timeout/redlock';
import type { TimeoutTestingOptions } from '@lastcall/timeout/testing';

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
  Takes<OrdersHostOptions>,
  Takes<BullmqDriverOptions>,
  Takes<PostgresDriverOptions>,
  Takes<RedlockLockOptions>,
  Takes<TimeoutTestingOptions>,
] = [true, true, true, true, true, true, true, true, true, true];

/** As a shop has them in its environment, or has not. */
export const SETTINGS: OrdersHostOptions['settings'] = {
  HISTORY_SEAL_KEY: process.env.HISTORY_SEAL_KEY,
};
