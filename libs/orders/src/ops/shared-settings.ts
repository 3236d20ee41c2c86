import type { Settings } from '../config';
import { durationText } from '../duration';

type Text<Value> = (value: Value) => string;

const same: Text<string> = (value) => value;
const orOff =
  <Value>(text: Text<Value>): Text<Value | null> =>
  (value) =>
    value === null ? 'off' : text(value);
const percentage: Text<number> = (share) => `${Math.round(share * 100)}%`;
const limit = orOff<number>(String);
const onOrOff: Text<boolean> = (isOn) => (isOn ? 'on' : 'off');

/**
 * The settings that all processes of an installation have to share, and how they are written in the
 * environment: one way for each value, so that two processes can be compared by the text.
 */
const SHARED = {
  TIMER_DRIVER: same,
  TIMER_GRANULARITY: (value) => (value === 'subject' ? 'order' : durationText(value)),
  TIMER_HORIZON: durationText,
  SWEEP_INTERVAL: durationText,
  PAYMENT_WINDOW: durationText,
  PAYMENT_GRACE: durationText,
  SHIP_WITHIN: orOff(durationText),
  RECEIVE_WITHIN: orOff(durationText),
  BLAST_RADIUS: orOff(percentage),
  MAX_OPEN_ORDERS: limit,
  MAX_HELD_UNITS: limit,
  MAX_HELD_SHARE: orOff(percentage),
  MAX_UNPAID_IN_A_ROW: limit,
  PAYMENT_PROVIDERS: (names) => names.join(','),
  STRIPE_ASYNC_METHODS: onOrOff,
  LATE_PAYMENT: same,
  CANCEL_PAID: same,
  CUSTOMER_EXTENSION: orOff(durationText),
  CUSTOMER_EXTENSIONS: String,
  WEBHOOKS_ALLOW_PRIVATE: onOrOff,
} as const satisfies { readonly [Name in keyof Settings]?: Text<Settings[Name]> };

export type SharedName = keyof typeof SHARED;
export const SHARED_NAMES = Object.keys(SHARED) as SharedName[];

/** Names and values as the environment has them; no secret is among them. */
export type SharedSettings = Readonly<Partial<Record<SharedName, string>>>;

export function sharedSettings(settings: Settings): SharedSettings {
  const textOf = <Name extends SharedName>(name: Name): string =>
    (SHARED[name] as Text<Settings[Name]>)(settings[name]);
  return Object.fromEntries(SHARED_NAMES.map((name) => [name, textOf(name)]));
}
