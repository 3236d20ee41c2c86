import { z } from 'zod';
import { seededRandom, type Random } from './random';

const OPERATIONS = [
  'payment.create',
  'payment.get',
  'payment.close',
  'payment.extend',
  'refund.create',
  'refund.get',
] as const;
export type Operation = (typeof OPERATIONS)[number];

const MAX_DELAY_MS = 600_000;
const rate = z.number().min(0).max(1);
const delayMs = z.int().min(0).max(MAX_DELAY_MS);

const faultsSchema = z.strictObject({
  /** How long each provider call takes. */
  latencyMs: delayMs,
  /** Share of calls answered with 500. */
  errorRate: rate,
  /** Share of calls that are never answered; the connection is dropped after `timeoutHoldMs`. */
  timeoutRate: rate,
  timeoutHoldMs: delayMs,
  /** Share of the calls hit by `errorRate` and `timeoutRate` that are carried out all the same. */
  carriedOutRate: rate,
  /** Share of calls refused with 429 and `Retry-After: retryAfterSeconds`. */
  rateLimitRate: rate,
  retryAfterSeconds: z.int().min(0).max(3600),
  /** Share of calls refused for good, with 422: nothing is carried out. */
  refuseRate: rate,
  /** Share of calls that are carried out and answered with something that is not JSON. */
  malformedRate: rate,
  /** Only these operations go wrong; null = all. */
  operations: z.array(z.enum(OPERATIONS)).min(1).nullable(),
  /** How many calls may still go wrong; null = no limit. */
  times: z.int().min(0).nullable(),

  /** Extra copies of each webhook; true = one. */
  duplicateWebhooks: z.union([z.boolean(), z.int().min(0).max(100)]),
  /** Holds each webhook back for a random time, so that later ones overtake it. */
  reorderWebhooks: z.boolean(),
  /** Share of webhooks that are lost for good; true = all. */
  dropWebhooks: z.union([z.boolean(), rate]),
  webhookDelayMs: delayMs,
  /** Tells of one capture by two events with ids of their own. */
  doubleSuccess: z.boolean(),

  /** Lets the buyer pay a payment that is closed already, as a slow bank transfer would. */
  captureAfterClose: z.boolean(),
  /** Refunds are accepted and fail when they settle. */
  failRefunds: z.boolean(),
  refundDelayMs: delayMs,

  /** The same seed gives the same luck; null = a new one each time. */
  seed: z.int().min(0).nullable(),
});
export type Faults = z.infer<typeof faultsSchema>;
export const faultsPatchSchema = faultsSchema.partial();
export type FaultsPatch = z.infer<typeof faultsPatchSchema>;

export const NO_FAULTS: Faults = {
  latencyMs: 0,
  errorRate: 0,
  timeoutRate: 0,
  timeoutHoldMs: 30_000,
  carriedOutRate: 0.5,
  rateLimitRate: 0,
  retryAfterSeconds: 1,
  refuseRate: 0,
  malformedRate: 0,
  operations: null,
  times: null,
  duplicateWebhooks: 0,
  reorderWebhooks: false,
  dropWebhooks: false,
  webhookDelayMs: 0,
  doubleSuccess: false,
  captureAfterClose: false,
  failRefunds: false,
  refundDelayMs: 50,
  seed: null,
};

/** Long enough for a webhook on this machine to be overtaken, short enough to wait for in a test. */
const REORDER_WINDOW_MS = 250;

export type Misbehaviour = 'error' | 'timeout' | 'rate_limit' | 'refuse' | 'malformed';

export interface CallPlan {
  readonly latencyMs: number;
  readonly misbehaviour: Misbehaviour | null;
  /** Whether a call that goes wrong has its effect nevertheless. */
  readonly carriedOut: boolean;
}

export interface DeliveryPlan {
  readonly copies: number;
  readonly delayMs: number;
}

/** The faults that are switched on, and the dice. They are forgotten when the process stops. */
export class FaultBox {
  current: Faults = { ...NO_FAULTS };
  // Webhooks leave when they like: with dice of their own they do not change the calls' luck.
  #callRandom: Random = Math.random;
  #webhookRandom: Random = Math.random;

  merge(patch: FaultsPatch): void {
    this.current = { ...this.current, ...patch };
    if (patch.seed !== undefined) this.#seed(patch.seed);
  }

  reset(): void {
    this.current = { ...NO_FAULTS };
    this.#seed(null);
  }

  planCall(operation: Operation): CallPlan {
    const { operations, times, latencyMs, carriedOutRate } = this.current;
    if (operations !== null && !operations.includes(operation)) return FAULTLESS;
    const misbehaviour = times === 0 ? null : this.#rollMisbehaviour();
    if (misbehaviour !== null && times !== null) this.current.times = times - 1;
    const carriedOut =
      misbehaviour === 'malformed' ||
      (misbehaviour !== 'rate_limit' &&
        misbehaviour !== 'refuse' &&
        this.#callRandom() < carriedOutRate);
    return { latencyMs, misbehaviour, carriedOut };
  }

  rollDrop(): boolean {
    return this.#webhookRandom() < Number(this.current.dropWebhooks);
  }

  planDelivery(): DeliveryPlan {
    const { duplicateWebhooks, reorderWebhooks, webhookDelayMs } = this.current;
    const heldMs = reorderWebhooks ? Math.floor(this.#webhookRandom() * REORDER_WINDOW_MS) : 0;
    return { copies: Number(duplicateWebhooks), delayMs: webhookDelayMs + heldMs };
  }

  #rollMisbehaviour(): Misbehaviour | null {
    const { timeoutRate, errorRate, rateLimitRate, refuseRate, malformedRate } = this.current;
    if (this.#callRandom() < timeoutRate) return 'timeout';
    if (this.#callRandom() < errorRate) return 'error';
    if (this.#callRandom() < rateLimitRate) return 'rate_limit';
    // No throw of the dice while it is off: the others' luck stays what it was.
    if (refuseRate > 0 && this.#callRandom() < refuseRate) return 'refuse';
    if (this.#callRandom() < malformedRate) return 'malformed';
    return null;
  }

  #seed(seed: number | null): void {
    this.#callRandom = seed === null ? Math.random : seededRandom(seed);
    this.#webhookRandom = seed === null ? Math.random : seededRandom(seed + 1);
  }
}

const FAULTLESS: CallPlan = { latencyMs: 0, misbehaviour: null, carriedOut: true };
