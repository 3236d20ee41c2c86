import { assertOptions, orElse } from '@app/timeout';
import { z } from 'zod';
import type { OrdersModuleAsyncOptions } from './host-options';
import type { OrdersParts } from './set-up';

export interface OrdersModuleOptions {
  /** True in the worker role: rings, sweeps, refunds and relays events. */
  readonly ring: boolean;
  /** True for a command: it comes and goes, and is no process of the installation. */
  readonly isVisitor?: boolean;
  /** True for a command beside a host with hooks or a stock of its own: it may change no order. */
  readonly hooksElsewhere?: boolean;
  /** For a command beside a host: names of the providers that the host brings itself. */
  readonly providersElsewhere?: readonly string[];
  readonly parts?: OrdersParts;
}

const trueOrFalse = z.boolean(orElse('true or false'));

const WITH_CONFIG = {
  ring: trueOrFalse,
  isVisitor: trueOrFalse,
  hooksElsewhere: trueOrFalse,
  providersElsewhere: z.array(z.string(), orElse('a list of names')),
  parts: z.looseObject({}, orElse('parts by their names')),
} satisfies Record<keyof OrdersModuleOptions, z.ZodType>;

const ASYNC = {
  role: z.enum(['ring', 'arm'], orElse('"ring" or "arm"')),
  imports: z.array(z.unknown(), orElse('a list of modules')),
  inject: z.array(z.unknown(), orElse('a list of tokens')),
  useFactory: z.custom((value) => typeof value === 'function', orElse('a function')),
} satisfies Record<keyof OrdersModuleAsyncOptions<readonly []>, z.ZodType>;

/** @throws {TypeError} naming every option that is wrong, and how it is right */
export function checkModuleOptions(options: OrdersModuleOptions): OrdersModuleOptions {
  assertOptions('OrdersModule', WITH_CONFIG, ['ring'], options);
  return options;
}

/** @throws {TypeError} naming every option that is wrong, and how it is right */
export function checkAsyncOptions<Options extends object>(options: Options): Options {
  assertOptions('OrdersModule', ASYNC, ['useFactory'], options);
  return options;
}
