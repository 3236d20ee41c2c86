import { z } from 'zod';
import { DELIVERY_CURSOR, DELIVERY_STATUSES } from '../deliveries/deliveries';
import { MAX_OVERLAP_MS } from '../deliveries/endpoints';
import { ALL_EVENTS, EVENT_TYPES } from '../deliveries/message';
import { unlessMissing, wholeNumber } from '../order/read-input';
import { pageQuery, reason, text } from './request-fields';

// What is sent about webhook endpoints, to the letter; it feeds the OpenAPI.

/** The most ids one call names. */
const MAX_IDS = 1_000;

export const webhookEndpointBody = z.strictObject({
  url: text(1, 2_000)
    .describe('Where to: https, and no private network unless WEBHOOKS_ALLOW_PRIVATE is on')
    .meta({ examples: ['https://shop.example/lastcall'] }),
  events: z
    .array(z.enum([ALL_EVENTS, ...EVENT_TYPES]), unlessMissing('must be a list'))
    .min(1, 'must have at least one type of event, or "*" for all')
    .max(EVENT_TYPES.length + 1, 'must name each type of event once at most')
    .meta({ examples: [['order.paid', 'order.closed']] }),
  reason: reason.optional(),
});
export const rotateBody = z
  .strictObject({
    overlapSeconds: wholeNumber(0, MAX_OVERLAP_MS / 1_000)
      .describe('For so long the present secret signs as well; a day unless given')
      .meta({ examples: [86_400] })
      .optional(),
    reason: reason.optional(),
  })
  .nullish();
export const redeliverBody = z
  .strictObject({
    deliveries: z
      .array(z.uuid('must be the id of a delivery'), unlessMissing('must be a list'))
      .min(1, 'must name a delivery, or be left out: then it is all that are dead')
      .max(MAX_IDS, `must have at most ${MAX_IDS} ids`)
      .optional(),
    reason: reason.optional(),
  })
  .nullish();
/** Also with each id in a line of its own, and a reason. */
export const REDELIVER_BODY_LIMIT = 64 * MAX_IDS;
export const listDeliveriesQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES).optional(),
  limit: pageQuery.limit,
  cursor: z
    .string()
    .regex(DELIVERY_CURSOR, 'must be the nextCursor of an earlier answer')
    .optional(),
});
